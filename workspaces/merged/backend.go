package merged

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/overlay"
	"triplane.dev/generic/storage/wire"
)

// Config says where the keys of workspaces are.
type Config struct {
	// Prefix is that of the server's keys, Directory the path of all workspaces below it.
	Prefix, Directory string
	// Existing returns the last segments of the paths of the workspaces that existed at a revision.
	Existing func(ctx context.Context, revision int64) ([]string, error)
	// Annotation is the annotation with the name of an object's workspace.
	Annotation string
}

// Backend is the view of a backend. It is safe for concurrent use.
type Backend struct {
	storage.Backend
	config Config
	// decode changes a value that was read; nil reads stored values. It returns false for keys that are not shown.
	decode func(*storage.KeyValue) bool
}

// New returns a view of a backend.
func New(c Config, below storage.Backend) *Backend { return &Backend{Backend: below, config: c} }

// errReadOnly is the error of writes.
var errReadOnly = errors.New("all workspaces cannot be written at once")

// Create implements storage.Backend.
func (b *Backend) Create(context.Context, string, []byte, time.Duration) (int64, error) {
	return 0, errReadOnly
}

// Update implements storage.Backend.
func (b *Backend) Update(context.Context, string, []byte, int64, time.Duration) (int64, error) {
	return 0, errReadOnly
}

// Delete implements storage.Backend.
func (b *Backend) Delete(context.Context, string, int64) (int64, error) { return 0, errReadOnly }

// directory returns the prefix of the keys of all workspaces.
func (b *Backend) directory() string { return b.config.Prefix + "/" + b.config.Directory + "/" }

// merged returns the key here of a stored key. ok is false if it is not that of a workspace's object.
func (b *Backend) merged(key string) (string, bool) {
	below, ok := strings.CutPrefix(key, b.directory())
	workspace, rest, found := strings.Cut(below, "/")
	if !ok || !found || strings.HasPrefix(workspace, ".") {
		return "", false
	}
	return b.config.Prefix + "/" + rest + "/" + workspace, true
}

// stored returns the stored key of a key here.
func (b *Backend) stored(key string) string {
	end := strings.LastIndexByte(key, '/')
	return b.directory() + key[end+1:] + key[len(b.config.Prefix):end]
}

// workspaceOf returns the name of the workspace of a key here.
func workspaceOf(key string) string {
	name, _, _ := strings.Cut(key[strings.LastIndexByte(key, '/')+1:], ".")
	return name
}

// Get implements storage.Backend.
func (b *Backend) Get(ctx context.Context, key string) (storage.KeyValue, error) {
	kv, err := b.Backend.Get(ctx, b.stored(key))
	if kv.Key = key; err == nil && b.decode != nil && !b.decode(&kv) {
		return storage.KeyValue{}, storage.ErrNotFound
	}
	return kv, err
}

// Each calls f for each key with a prefix at a revision, workspace by workspace. f may keep the value.
func (b *Backend) Each(ctx context.Context, prefix string, revision int64, f func(*storage.KeyValue)) error {
	all, err := b.config.Existing(ctx, revision)
	if err != nil {
		return err
	}
	for _, workspace := range all {
		page, err := b.Backend.Range(ctx, storage.RangeOptions{Revision: revision,
			Prefix: b.directory() + workspace + prefix[len(b.config.Prefix):]})
		if err != nil {
			return err
		}
		for i := range page.Items {
			kv := &page.Items[i]
			if kv.Key, _ = b.merged(kv.Key); kv.Err != nil || b.decode == nil || b.decode(kv) {
				f(kv)
			}
		}
	}
	return nil
}

// Range implements storage.Backend. It reads all keys below the prefix.
func (b *Backend) Range(ctx context.Context, opts storage.RangeOptions) (storage.RangeResult, error) {
	result := storage.RangeResult{Revision: opts.Revision}
	var err error
	if result.Revision == 0 {
		if result.Revision, err = b.Revision(ctx); err != nil {
			return result, err
		}
	}
	if err := b.Each(ctx, opts.Prefix, result.Revision, func(kv *storage.KeyValue) {
		if kv.Key > opts.After {
			result.Items = append(result.Items, *kv)
		}
	}); err != nil {
		return result, err
	}
	slices.SortFunc(result.Items, func(x, y storage.KeyValue) int { return strings.Compare(x.Key, y.Key) })
	result.Count = int64(len(result.Items))
	switch {
	case opts.CountOnly:
		result.Items = nil
	case opts.Limit > 0 && result.Count > opts.Limit:
		result.Items, result.More = result.Items[:opts.Limit], true
	}
	return result, nil
}

// Watch implements storage.Backend. prefix must be that of all keys.
func (b *Backend) Watch(ctx context.Context, _ string, from int64, previous func(string) bool) (storage.ChangeStream,
	error) {
	stream, err := b.Backend.Watch(ctx, b.directory(), from, func(key string) bool {
		key, ok := b.merged(key)
		return ok && (previous == nil || previous(key))
	})
	if err != nil {
		return nil, err
	}
	return &changes{ChangeStream: stream, backend: b}, nil
}

type changes struct {
	storage.ChangeStream
	backend *Backend
	buffer  []storage.Change
}

// Next implements storage.ChangeStream.
func (c *changes) Next(ctx context.Context) ([]storage.Change, int64, error) {
	all, progress, err := c.ChangeStream.Next(ctx)
	c.buffer = c.buffer[:0]
	for _, change := range all {
		if key, ok := c.backend.merged(change.Key); ok {
			change.Key = key
			c.buffer = append(c.buffer, change)
		}
	}
	return c.buffer, progress, err
}

// View is the view of one resource. Default objects that a workspace has not changed are not in it.
type View struct {
	*Backend
	below cache.View
}

var _ cache.View = (*View)(nil)

// NewView returns the view of a resource's backend. view is the backend if it decodes changes, and nil otherwise.
func NewView(c Config, backend storage.Backend, view cache.View) *View {
	v := &View{Backend: New(c, backend), below: view}
	v.decode = func(kv *storage.KeyValue) bool {
		kv.Value = v.value(kv.Key, kv.Value)
		return kv.Value != nil
	}
	return v
}

// Decode implements cache.View.
func (v *View) Decode(c *storage.Change) error {
	key := c.Key
	if v.below != nil {
		c.Key = v.stored(key)
		err := v.below.Decode(c)
		if c.Key = key; err != nil {
			return err
		}
	}
	c.Value = v.value(key, c.Value)
	if c.Previous = v.value(key, c.Previous); c.Previous == nil {
		c.PrevRev = 0
	}
	return nil
}

// value returns a decoded value with the annotation; nil for a deleted default object.
func (v *View) value(key string, value []byte) []byte {
	if value == nil || overlay.IsDeleted(value) {
		return nil
	}
	if with, ok := wire.SetAnnotation(value, v.config.Annotation, workspaceOf(key)); ok {
		return with
	}
	return annotateText(value, v.config.Annotation, workspaceOf(key))
}

// annotateText sets the annotation of an object in JSON or YAML. A value that is neither cannot be decoded, and stays
// as it is: its reader reports it.
func annotateText(value []byte, annotation, name string) []byte {
	text, err := wire.StoredText(value)
	if err != nil || wire.IsProtobuf(value) || !bytes.HasPrefix(text, []byte("{")) || !json.Valid(text) {
		return value
	}
	return setMember(text, "metadata", func(metadata []byte) []byte {
		return setMember(metadata, "annotations", func(annotations []byte) []byte {
			return setMember(annotations, annotation, func([]byte) []byte { return wire.AppendString(nil, name) })
		})
	})
}

// setMember returns a JSON object with another value of a member, in the order of the members' names. The value is
// made from the one before, or from an empty object.
func setMember(object []byte, name string, value func(before []byte) []byte) []byte {
	before, written := []byte("{}"), false
	for key, v := range wire.JSONMembers(object) {
		if string(key) == name && string(v) != "null" {
			before = v
		}
	}
	o := wire.BeginJSON(make([]byte, 0, len(object)+len(name)+setOverhead))
	set := func() {
		o.Member(name, value(before))
		written = true
	}
	for key, v := range wire.JSONMembers(object) {
		if !written && string(key) >= name {
			set()
		}
		if string(key) != name {
			o.Key(key)
			o.Dst = append(o.Dst, v...)
		}
	}
	if !written {
		set()
	}
	return o.End()
}

// setOverhead is about what an annotation adds to an object.
const setOverhead = 128
