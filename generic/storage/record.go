package storage

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/s2"
)

// Record is one revision of one object: the stored bytes, and values that were derived from them. It is
// immutable otherwise. The cache, all lists and all watches share it.
type Record struct {
	Key      string
	Revision int64
	// Err, if set, is the *TransformError because of which there is no value. Only lists from the backend have
	// such records.
	Err error

	value      []byte // in the block format of S2 if compressed is set
	compressed bool

	labels, fields atomic.Pointer[Set]
	forms          atomic.Pointer[form]
}

// FormID identifies a wire form of a resource's objects: a version, a media type and a shape. The registry's
// Store assigns the numbers.
type FormID uint16

// compressLeast is the size in bytes from which on values are compressed. These are mostly CRDs: they are many,
// and their values are rarely read.
const compressLeast = 16 << 10

// compressBuffers are the results of compression before they are copied to their size.
var compressBuffers = sync.Pool{New: func() any { return new([]byte) }}

// NewRecord returns a record of a value, which must not be changed afterwards.
func NewRecord(key string, value []byte, revision int64) *Record {
	return &Record{Key: key, value: value, Revision: revision}
}

// Value returns the stored bytes, which must not be changed. Those of a compressed record are a new copy, which
// takes about 0.3 ns a byte.
func (r *Record) Value() []byte { return r.ValueIn(new([]byte)) }

// ValueIn is Value for many records whose values are used only until the next call: it copies those of compressed
// records into *buffer, which grows as necessary.
func (r *Record) ValueIn(buffer *[]byte) []byte {
	if !r.compressed {
		return r.value
	}
	value, err := s2.Decode((*buffer)[:cap(*buffer)], r.value)
	if err != nil {
		return nil // memory is damaged: decoders report that there is nothing
	}
	*buffer = value
	return value
}

// Size returns the number of the stored bytes.
func (r *Record) Size() int {
	if !r.compressed {
		return len(r.value)
	}
	n, _ := s2.DecodedLen(r.value)
	return n
}

// Compressed returns the record with its value compressed, for a cache that keeps it, or the record itself if
// the value is small or does not become much smaller. Both share the derived values.
func (r *Record) Compressed() *Record {
	if r.compressed || len(r.value) < compressLeast {
		return r
	}
	buffer, _ := compressBuffers.Get().(*[]byte)
	defer compressBuffers.Put(buffer)
	*buffer = s2.Encode((*buffer)[:cap(*buffer)], r.value)
	if len(*buffer) > len(r.value)/2 {
		return r
	}
	c := r.At(r.Revision)
	c.value, c.compressed = bytes.Clone(*buffer), true
	c.labels.Store(r.labels.Load())
	c.fields.Store(r.fields.Load())
	c.Adopt(r)
	return c
}

// At returns a record of the same value at another revision, without derived values.
func (r *Record) At(revision int64) *Record {
	return &Record{Key: r.Key, value: r.value, compressed: r.compressed, Revision: revision, Err: r.Err}
}

// Labels returns the labels. The first call reads them.
func (r *Record) Labels(read func(*Record) (Set, error)) (*Set, error) {
	return r.derived(&r.labels, read)
}

// Fields returns the fields for selectors. The first call reads them.
func (r *Record) Fields(read func(*Record) (Set, error)) (*Set, error) {
	return r.derived(&r.fields, read)
}

func (r *Record) derived(kept *atomic.Pointer[Set], read func(*Record) (Set, error)) (*Set, error) {
	if s := kept.Load(); s != nil {
		return s, nil
	}
	if r.Err != nil {
		return nil, r.Err
	}
	s, err := read(r)
	if err != nil {
		return nil, err
	}
	kept.Store(&s)
	return &s, nil
}
