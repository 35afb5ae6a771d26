// Package storagemigration writes all objects of a resource again, unchanged, so
// that they are stored in the current version and with the current encryption
// (StorageVersionMigration, KEP-4192).
//
// The status of a migration has the revision of storage at which it began. Objects that were
// written since need no rewrite; so an interrupted migration continues where it was, and an object that
// another client writes meanwhile is done. While a custom resource is migrated, its definition has the
// condition StorageMigrating; at the end, if the definition has not changed meanwhile,
// its status.storedVersions becomes the storage version alone, so that other versions can be
// removed from it.
//
// A migration fails where an object cannot be written as it is, after all others
// have been, and where this server does not keep the resource.
package storagemigration
