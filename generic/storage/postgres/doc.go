// Package postgres implements storage.Backend with a PostgreSQL database.
//
// The schema triplane (schema.sql) has one table of revisions, kv. A write adds a row, and compaction deletes rows that
// later ones supersede; nothing is updated in place. Keys and values are the bytes that etcd would have.
//
// One order. A write transaction is one call of the function write. It takes an advisory lock, which PostgreSQL
// releases after the commit is visible, and numbers its rows from the latest revision on. Revisions are therefore
// committed in order and without gaps: a reader that sees a revision sees all before it. Concurrent writers of a
// process are executed by one call (write.go), so that they share the lock, the round trip and the sync of the disk.
//
// One reader. A poller reads the latest revision and all changes since the last poll in one statement (poll.go). Its
// log serves all watches. A consistent read waits for the next poll, and needs no other request if the caches follow
// the watch. The poller runs when a write is notified (LISTEN), after the process's own writes, for a consistent read,
// and at an interval.
//
// Each new session registers the identity of its server, system identifier and timeline, in the schema (connect.go).
// After a promotion or a restore the revisions continue after a gap, and clients list again.
package postgres
