package database

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// BenchmarkCheck measures the check of a database at the start, with 100 MB of objects of 2 KB.
func BenchmarkCheck(b *testing.B) {
	dir := b.TempDir()
	if err := os.MkdirAll(filepath.Dir(Path(dir)), 0o700); err != nil {
		b.Fatal(err)
	}
	db, err := bolt.Open(Path(dir), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	const entries, size = 50_000, 2_000
	err = db.Update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucket([]byte(keyBucket))
		if err != nil {
			return err
		}
		bucket.FillPercent = 1
		for i := int64(1); i <= entries; i++ {
			at := append(binary.BigEndian.AppendUint64(nil, uint64(i)), '_')
			at = binary.BigEndian.AppendUint64(at, 0)
			value, err := proto.Marshal(&mvccpb.KeyValue{Key: at, Value: make([]byte, size), CreateRevision: i,
				ModRevision: i, Version: 1})
			if err != nil {
				return err
			}
			if err := bucket.Put(at, value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(Path(dir))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		if _, err := Check(dir); err != nil {
			b.Fatal(err)
		}
	}
}
