package copying

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Key is a key with all that a copy preserves.
type Key struct {
	Key, Value        []byte
	Created, Revision int64
	Expires           time.Time // zero for keys without a time to live
}

// Source is a store to copy from.
type Source interface {
	// Each passes all keys in order, at the current revision, which it returns. f may retain them.
	Each(ctx context.Context, f func(Key) error) (revision int64, err error)
}

// Target is a store to copy to.
type Target interface {
	// Put receives the next keys in order. It returns how many of them were missing or different.
	Put(ctx context.Context, keys []Key) (changed int, err error)
	// Finish completes the store at a revision, after all keys.
	Finish(ctx context.Context, revision int64) error
	// Each is that of Source, after Finish.
	Each(ctx context.Context, f func(Key) error) (revision int64, err error)
}

// Result describes a copy.
type Result struct {
	Keys, Changed int64
	Revision      int64
	Digest        string
}

// Limits of a page, in keys and bytes.
const (
	pageKeys  = 500
	pageBytes = 4 << 20
)

// Run copies all keys, and compares both stores. progress is called after each page.
func Run(ctx context.Context, from Source, to Target, progress func(Result)) (Result, error) {
	var r Result
	var sum digest
	var page []Key
	size := 0
	put := func() error {
		changed, err := to.Put(ctx, page)
		r.Keys, r.Changed = r.Keys+int64(len(page)), r.Changed+int64(changed)
		page, size = nil, 0
		if progress != nil {
			progress(r)
		}
		return err
	}
	revision, err := from.Each(ctx, func(k Key) error {
		sum.add(k)
		page, size = append(page, k), size+len(k.Key)+len(k.Value)
		if len(page) < pageKeys && size < pageBytes {
			return nil
		}
		return put()
	})
	if err == nil && len(page) > 0 {
		err = put()
	}
	if err == nil {
		err = to.Finish(ctx, revision)
	}
	if err != nil {
		return r, err
	}
	r.Revision, r.Digest = revision, sum.String()
	var copied digest
	if _, err := to.Each(ctx, func(k Key) error { copied.add(k); return nil }); err != nil {
		return r, err
	}
	if copied != sum {
		return r, fmt.Errorf("the copy differs: it has %d keys with digest %s, the original %d with %s: repeat the copy",
			copied.keys, copied, sum.keys, sum)
	}
	return r, nil
}

// digest is the number of keys, and the exclusive or of their SHA-256 sums, which does not depend on their order.
type digest struct {
	keys int64
	sum  [sha256.Size]byte
}

func (d *digest) add(k Key) {
	h := sha256.New()
	var head [16]byte
	binary.BigEndian.PutUint64(head[:], uint64(k.Revision))
	binary.BigEndian.PutUint64(head[8:], uint64(len(k.Key)))
	for _, part := range [][]byte{head[:], k.Key, k.Value} {
		_, _ = h.Write(part) // never fails
	}
	d.keys++
	for i, b := range h.Sum(nil) {
		d.sum[i] ^= b
	}
}

func (d digest) String() string { return hex.EncodeToString(d.sum[:]) }

// errOrder means that two keys have the same revision, which writes of an API server never do.
var errOrder = errors.New("two keys have the same revision: the store was not written by API servers alone")
