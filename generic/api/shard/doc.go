// Package shard parses shard selectors of lists and watches (KEP-5866):
//
//	shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')
//
// The result is a storage.Shard, by which the cache selects records.
package shard
