// Package storagemigration rewrites all objects of a resource unchanged, so that they are stored in the current
// version and with the current encryption (StorageVersionMigration, KEP-4192).
//
// The status of a migration has the storage revision at which it started. Objects that were written later need no
// rewrite, so that an interrupted migration can continue. While a custom resource is migrated, its definition has
// the condition StorageMigrating. If the definition has not changed at the end, its status.storedVersions becomes
// the storage version only, so that other versions can be removed.
//
// A migration fails if an object cannot be rewritten (after rewriting all others), or if this server does not
// store the resource.
package storagemigration
