// Package storagemigration writes all objects of a resource again, as they are, so
// that storage holds them in the version and with the encryption of today
// (StorageVersionMigration, KEP-4192).
//
// The status of a migration has the revision of storage at which it was first seen.
// Objects that were written since are as they should be; so a migration that was
// interrupted goes on where it was, and one that meets another writer has nothing
// to do. Of a custom resource the definition says that it is being migrated, in the
// condition StorageMigrating; in the end, where it has not changed meanwhile,
// its status.storedVersions are the storage version alone, so that others may be
// removed from it.
//
// A migration fails where an object cannot be written as it is, after all others
// have been, and where the resource is not kept by this server.
package storagemigration
