// Package storageoptions has the flags of storage: etcd, PostgreSQL, the embedded etcd and its cluster, and the storage
// of individual resources. Its types follow the contract of package options.
//
// Read Etcd first. RESTOptionsGetter returns the storage of each resource over the stores that package host opened.
package storageoptions
