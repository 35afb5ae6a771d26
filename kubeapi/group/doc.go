// Package group is how an API group is put together from its kinds, and how one
// group finds the storage of another.
//
// Each group folder exports
//
//	func Group(d group.Deps) (*server.APIGroupInfo, error)
//
// which makes a Builder with New, adds its kinds with Add and what else it serves
// with Builder.Resource, and returns Builder.Info. Groups do not import each other,
// which internal/imports tests: what several of them use is in folders beside them,
// and what one needs of another's objects (a Service its IPAddresses) it reads
// through a Handle of Deps.Stores (IPAddresses(d.Stores)), during requests, when all
// groups are there.
package group
