// Package lifecycle is the admission plugin NamespaceLifecycle: objects are created in namespaces
// that exist and are not about to end.
package lifecycle
