// Package fieldmanager connects managed fields (package managedfields) with the versions and codecs of a resource.
//
// New returns the manager of one served version, Record updates managed fields for a write.
package fieldmanager
