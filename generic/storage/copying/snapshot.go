package copying

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"triplane.dev/internal/durable"
)

// Snapshot is a snapshot file of etcd as a Target. "etcdutl snapshot restore" and "triplane snapshot restore" read it.
// Keys have no times to live: no lease of etcd is made for them.
type Snapshot struct {
	path     string
	db       *bbolt.DB
	previous map[int64]bool
}

// buckets are those of an etcd database.
var buckets = []string{"alarm", "auth", "authRoles", "authUsers", "cluster", "key", "lease", "members",
	"members_removed", "meta"}

// NewSnapshot returns a Target for a file, which must not exist.
func NewSnapshot(path string) (*Snapshot, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("%s exists already", path)
	}
	s := &Snapshot{path: path, previous: map[int64]bool{}}
	if err := os.Remove(s.unfinished()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	db, err := bbolt.Open(s.unfinished(), 0o600, &bbolt.Options{NoSync: true, Timeout: time.Second})
	if err != nil {
		return nil, err
	}
	s.db = db
	return s, db.Update(func(tx *bbolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Snapshot) unfinished() string { return s.path + ".unfinished" }

// Put implements Target.
func (s *Snapshot) Put(_ context.Context, keys []Key) (int, error) {
	return len(keys), s.db.Update(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket([]byte("key"))
		for _, k := range keys {
			if s.previous[k.Revision] {
				return errOrder
			}
			s.previous[k.Revision] = true
			value, err := proto.Marshal(&mvccpb.KeyValue{Key: k.Key, Value: k.Value, CreateRevision: k.Created,
				ModRevision: k.Revision, Version: 1})
			if err != nil {
				return err
			}
			if err := bucket.Put(revisionKey(k.Revision), value); err != nil {
				return err
			}
		}
		return nil
	})
}

// revisionKey returns the key of a revision in etcd's database.
func revisionKey(revision int64) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(revision))
	return binary.BigEndian.AppendUint64(append(b, '_'), 0)
}

// Finish implements Target. The revision of the store is a deletion of a key that does not exist, unless a key has it.
func (s *Snapshot) Finish(_ context.Context, revision int64) error {
	err := s.db.Update(func(tx *bbolt.Tx) error {
		if s.previous[revision] {
			return nil
		}
		value, err := proto.Marshal(&mvccpb.KeyValue{Key: []byte("triplane-copy")})
		if err != nil {
			return err
		}
		return tx.Bucket([]byte("key")).Put(append(revisionKey(revision), 't'), value)
	})
	if err = errors.Join(err, s.db.Close()); err != nil {
		return err
	}
	source, err := os.Open(s.unfinished())
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // read-only
	err = durable.Write(s.path, 0o600, func(w io.Writer) error {
		sum := sha256.New()
		if _, err := io.Copy(io.MultiWriter(w, sum), source); err != nil {
			return err
		}
		_, err := w.Write(sum.Sum(nil))
		return err
	})
	if err != nil {
		return err
	}
	return os.Remove(s.unfinished())
}

// Each implements Target.
func (s *Snapshot) Each(_ context.Context, f func(Key) error) (revision int64, err error) {
	db, err := bbolt.Open(s.path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return 0, err
	}
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("key")).ForEach(func(at, value []byte) error {
			revision = int64(binary.BigEndian.Uint64(at))
			if at[len(at)-1] == 't' {
				return nil
			}
			var kv mvccpb.KeyValue
			if err := proto.Unmarshal(value, &kv); err != nil {
				return err
			}
			return f(Key{Key: kv.Key, Value: kv.Value, Created: kv.CreateRevision, Revision: kv.ModRevision})
		})
	})
	return revision, errors.Join(err, db.Close())
}
