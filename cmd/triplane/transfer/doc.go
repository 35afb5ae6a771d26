// Package transfer is the commands export and import: what a server keeps, as YAML, for another server,
// another store, or another release. Both are clients of the API: objects are read in the versions that
// the server prefers, and written as anybody writes them, with defaults, validation and admission.
//
// Exported is all that is listed and can be created, but not what a server makes by itself or for the
// time being (leftout.go). An object keeps its uid in the file, so that references to it can be written
// with the one that it gets: owners are created before their dependents, and wherever a string in an
// object is the uid of another one it is replaced. Namespaces come first, then CustomResourceDefinitions,
// whose resources are waited for; what decides about writes (webhooks, policies) comes last.
//
// Not kept are creation times, resource versions, generations and managed fields: the server that
// imports is the one that makes them.
package transfer
