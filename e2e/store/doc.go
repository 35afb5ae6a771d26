// Package store tests what the built server keeps, and where: the embedded etcd and its files,
// etcd processes; restarts, kills and power failures; snapshots, transfers, encryption.
package store
