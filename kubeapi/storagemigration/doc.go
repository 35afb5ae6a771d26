// Package storagemigration declares the kind of storagemigration.k8s.io,
// StorageVersionMigration: the wish that all objects of a resource be written again, in
// the version and with the encryption of today. A controller does it.
package storagemigration
