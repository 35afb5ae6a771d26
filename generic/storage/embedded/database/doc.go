// Package database reads the database file of an etcd member, and snapshots of one, without etcd and without trust in
// their bytes.
//
// etcd and bbolt end the process, or wait forever, on files that are damaged or locked. Check is therefore called
// before etcd opens a file: it verifies the pages (pages.go) and the entries (entries.go) of the whole file. Read also returns
// the Contents, to compare a store with its snapshots. Files are only read.
package database
