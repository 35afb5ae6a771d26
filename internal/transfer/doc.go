// Package transfer implements the commands export and import, and copies of workspaces. They transfer the
// objects of a server as YAML to another server, another storage, or another release. Both are clients of the
// API. Export reads objects in the preferred versions. Import creates them like any client, with defaulting,
// validation and admission.
//
// Export includes all objects that can be listed and created, except those that a server creates itself, and
// temporary ones (leftout.go). The file contains the uid of each object, so that import can replace references to
// it with the new uid. Owners are created before their dependents. Namespaces come first, then
// CustomResourceDefinitions, whose resources import waits for. Webhooks and policies, which affect writes, come
// last.
//
// Creation times, resource versions, generations and managed fields are not exported: the importing server sets
// them.
package transfer
