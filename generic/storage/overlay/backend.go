package overlay

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
)

// Revision is that of all defaults. It is lower than that of any write: they have always existed.
const Revision = 1

// mark is the value of a deleted default. No encoding of objects begins with its first byte.
var mark = []byte("\x00deleted")

// Defaults are the default objects. They are safe for concurrent use, and can be shared.
type Defaults struct {
	keys      []string // sorted
	values    map[string][]byte
	objects   map[*byte]*object // by the first byte of the value
	resources map[schema.GroupResource]bool
	own       map[string][]byte // replaces values of With; nil without
}

// object is a decoded default.
type object struct {
	once  sync.Once
	value runtime.Object
	err   error
}

// New returns defaults. The keys of values are relative: "clusterroles/admin". The caller must not change values, none
// of which may be empty. resources are those of the keys.
func New(values map[string][]byte, resources map[schema.GroupResource]bool) *Defaults {
	d := &Defaults{values: values, resources: resources, objects: make(map[*byte]*object, len(values))}
	for key, value := range values {
		d.keys = append(d.keys, key)
		d.objects[&value[0]] = &object{}
	}
	slices.Sort(d.keys)
	return d
}

// With returns the defaults with other values for some of their keys, and shares all else. The caller must not change
// own.
func (d *Defaults) With(own map[string][]byte) *Defaults {
	with := *d
	with.own = own
	return &with
}

// value returns the default value of a relative key.
func (d *Defaults) value(key string) ([]byte, bool) {
	if value, ok := d.own[key]; ok {
		return value, true
	}
	value, ok := d.values[key]
	return value, ok
}

// Has reports whether a resource has defaults, or may have some. Nil has none.
func (d *Defaults) Has(resource schema.GroupResource) bool { return d != nil && d.resources[resource] }

// Decoded returns the object of a value that a Backend or its cache returned: the same one to all callers if it is a
// default, which they must not change, and otherwise the result of decode.
func (d *Defaults) Decoded(value []byte, decode func() (runtime.Object, error)) (runtime.Object, error) {
	if len(value) == 0 {
		return decode()
	}
	o := d.objects[&value[0]]
	if o == nil {
		return decode()
	}
	o.once.Do(func() { o.value, o.err = decode() })
	return o.value, o.err
}

// Backend is a view of a backend with defaults. It is safe for concurrent use.
type Backend struct {
	storage.Backend
	defaults *Defaults
	prefix   string // of the defaults' keys, with a trailing slash
}

var _ cache.View = (*Backend)(nil)

// Over returns a view of a backend with the defaults below a prefix, which ends in "/".
func (d *Defaults) Over(below storage.Backend, prefix string) *Backend {
	return &Backend{Backend: below, defaults: d, prefix: prefix}
}

// value returns the default value of a key.
func (b *Backend) value(key string) ([]byte, bool) {
	relative, ok := strings.CutPrefix(key, b.prefix)
	if !ok {
		return nil, false
	}
	return b.defaults.value(relative)
}

// IsDeleted reports whether a stored value marks a default as deleted.
func IsDeleted(value []byte) bool { return bytes.Equal(value, mark) }

// Get implements storage.Backend.
func (b *Backend) Get(ctx context.Context, key string) (storage.KeyValue, error) {
	kv, err := b.Backend.Get(ctx, key)
	value, isDefault := b.value(key)
	switch {
	case !isDefault:
	case errors.Is(err, storage.ErrNotFound):
		return storage.KeyValue{Key: key, Value: value, Revision: Revision}, nil
	case err == nil && IsDeleted(kv.Value):
		return storage.KeyValue{}, storage.ErrNotFound
	}
	return kv, err
}

// Range implements storage.Backend. If there are defaults below the prefix, a count reads all keys below it, and the
// count of a page with a limit takes those after the page for not stored.
func (b *Backend) Range(ctx context.Context, opts storage.RangeOptions) (storage.RangeResult, error) {
	defaults := b.below(opts.Prefix, opts.After)
	if len(defaults) == 0 {
		return b.Backend.Range(ctx, opts)
	}
	below := opts
	below.CountOnly = false
	if opts.Limit > 0 {
		below.Limit += int64(len(defaults)) // as many may be marks
	}
	result, err := b.Backend.Range(ctx, below)
	if err != nil {
		return result, err
	}
	left := max(0, result.Count-int64(len(result.Items)))
	result.Items = b.merge(result.Items, defaults)
	result.Count, result.More = int64(len(result.Items))+left, false
	switch {
	case opts.CountOnly:
		result.Items = nil
	case opts.Limit > 0 && result.Count > opts.Limit:
		result.Items, result.More = result.Items[:opts.Limit], true
	}
	return result, nil
}

// below returns the relative keys of the defaults below a prefix that come after a key.
func (b *Backend) below(prefix, after string) []string {
	keys := b.defaults.keys
	if relative, ok := strings.CutPrefix(prefix, b.prefix); ok {
		first, _ := slices.BinarySearch(keys, relative)
		keys = keys[first:]
		if n := slices.IndexFunc(keys, func(key string) bool { return !strings.HasPrefix(key, relative) }); n >= 0 {
			keys = keys[:n]
		}
	} else if !strings.HasPrefix(b.prefix, prefix) {
		return nil
	}
	if after, ok := strings.CutPrefix(after, b.prefix); ok {
		n, found := slices.BinarySearch(keys, after)
		if found {
			n++
		}
		keys = keys[n:]
	}
	return keys
}

// merge returns stored keys without marks, and the defaults that are not stored.
func (b *Backend) merge(stored []storage.KeyValue, defaults []string) []storage.KeyValue {
	merged := make([]storage.KeyValue, 0, len(stored)+len(defaults))
	for i, d := 0, 0; i < len(stored) || d < len(defaults); {
		order := 1
		switch {
		case d == len(defaults):
			order = -1
		case i < len(stored):
			order = strings.Compare(stored[i].Key, b.prefix+defaults[d])
		}
		if order > 0 {
			value, _ := b.defaults.value(defaults[d])
			merged = append(merged, storage.KeyValue{Key: b.prefix + defaults[d], Value: value, Revision: Revision})
			d++
			continue
		}
		if order == 0 {
			d++
		}
		if order < 0 || !IsDeleted(stored[i].Value) {
			merged = append(merged, stored[i])
		}
		i++
	}
	return merged
}

// Create implements storage.Backend.
func (b *Backend) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (int64, error) {
	if _, isDefault := b.value(key); !isDefault {
		return b.Backend.Create(ctx, key, value, ttl)
	}
	kv, err := b.Backend.Get(ctx, key)
	switch {
	case errors.Is(err, storage.ErrNotFound) || err == nil && !IsDeleted(kv.Value):
		return 0, storage.ErrExists
	case err != nil:
		return 0, err
	}
	revision, err := b.Backend.Update(ctx, key, value, kv.Revision, ttl)
	if conflict := new(storage.ConflictError); errors.As(err, &conflict) {
		return 0, storage.ErrExists // another client was faster, and a client may retry
	}
	return revision, err
}

// Update implements storage.Backend.
func (b *Backend) Update(ctx context.Context, key string, value []byte, expected int64, ttl time.Duration) (int64,
	error) {
	if _, isDefault := b.value(key); !isDefault {
		return b.Backend.Update(ctx, key, value, expected, ttl)
	}
	return b.replace(ctx, key, value, expected, ttl)
}

// Delete implements storage.Backend. It marks defaults.
func (b *Backend) Delete(ctx context.Context, key string, expected int64) (int64, error) {
	if _, isDefault := b.value(key); !isDefault {
		return b.Backend.Delete(ctx, key, expected)
	}
	return b.replace(ctx, key, mark, expected, 0)
}

// replace replaces the value of a default's key at a revision.
func (b *Backend) replace(ctx context.Context, key string, value []byte, expected int64, ttl time.Duration) (int64,
	error) {
	if expected != Revision {
		// A mark has a revision that no client has seen, so it is not expected.
		revision, err := b.Backend.Update(ctx, key, value, expected, ttl)
		return revision, b.conflict(err)
	}
	revision, err := b.Backend.Create(ctx, key, value, ttl)
	if !errors.Is(err, storage.ErrExists) {
		return revision, err
	}
	kv, err := b.Backend.Get(ctx, key)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return 0, err
	}
	found := &storage.ConflictError{Key: key, Expected: expected}
	if err == nil {
		found.Current = &kv
	}
	return 0, b.conflict(found)
}

// conflict returns the error of a write to a default's key with the object that the view has.
func (b *Backend) conflict(err error) error {
	below := new(storage.ConflictError)
	if !errors.As(err, &below) {
		return err
	}
	seen := *below
	switch value, _ := b.value(below.Key); {
	case below.Current == nil:
		seen.Current = &storage.KeyValue{Key: below.Key, Value: value, Revision: Revision}
	case IsDeleted(below.Current.Value):
		seen.Current = nil
	}
	return &seen
}

// Decode implements cache.View. A stored default that another program deletes stays deleted until the cache is filled
// again.
func (b *Backend) Decode(c *storage.Change) error {
	if view, ok := b.Backend.(cache.View); ok {
		if err := view.Decode(c); err != nil {
			return err
		}
	}
	value, isDefault := b.value(c.Key)
	if !isDefault {
		return nil
	}
	if IsDeleted(c.Value) {
		c.Value = nil
	}
	switch {
	case c.PrevRev == 0:
		c.Previous, c.PrevRev = value, Revision
	case IsDeleted(c.Previous):
		c.Previous, c.PrevRev = nil, 0
	}
	return nil
}
