// Package group is what the folders of kubeapi share: how an API group is put
// together from its kinds, and how one group finds the storage of another.
//
// Each group folder exports
//
//	func Group(d group.Deps) (*server.APIGroupInfo, error)
//
// which makes a Builder, adds its kinds with Add, its further subresources with
// Subresource, and returns Info. Groups do not import each other: what one needs
// of another (a Service its IPAddresses) it finds in Deps.Stores, at request
// time, when all groups are there.
package group
