// Package postgres implements storage.Backend with a PostgreSQL database.
//
// The schema triplane (schema.sql) has one table of revisions, kv. A write adds a row, and compaction deletes rows that
// later ones supersede; nothing is updated in place. Keys and values are the bytes that etcd would have.
//
// One order. A write transaction is one call of the function write. It takes an advisory lock and then numbers its rows
// from the latest revision on, which it reads in a snapshot that is newer than the lock. PostgreSQL releases the lock
// after the commit is visible. Commits in another order than their revisions are therefore impossible by construction:
//
//   - No transaction has a number before the previous one is visible or rolled back. There is no sequence, which would
//     give numbers before commits and lose them with rollbacks.
//   - A reader that sees a revision sees all before it. Revisions have no gaps, except after a promotion or a restore.
//   - The primary key rejects a second row of a revision, even from a writer that has not taken the lock.
//   - The lock is held within one statement, not over round trips: a client that vanishes cannot hold it, and the
//     server ends the statement of one that waits for it.
//
// Concurrent writers of a process are executed by one call (write.go), so that they share the lock, the round trip and
// the sync of the disk. A commit that waits for a synchronous standby is not cancelled (connect.go), because PostgreSQL
// would show it to readers at once, and a failover would lose it.
//
// One reader. A poller reads the latest revision and all changes since the last poll in one statement (poll.go). Its
// log serves all watches. The process's own writes are added to the log when they are committed, without a poll, if
// they follow the latest revision in it. A consistent read waits for the next poll, and needs no other request if the
// caches follow the watch. The poller runs when a write of another process is notified (LISTEN), for a consistent
// read, and at an interval.
//
// Each new session registers the identity of its server, system identifier and timeline, in the schema (connect.go).
// After a promotion or a restore the revisions continue after a gap, and clients list again.
package postgres
