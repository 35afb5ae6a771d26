// Package admission holds the admission plugins that know built-in kinds, one
// file a plugin. Plugins returns them in kube-apiserver's order; they read other
// objects through group.Stores, from the watch cache where that will do.
package admission
