package kind

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/codec"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/object"
	"triplane.dev/generic/storage/wire"
	"triplane.dev/generic/storage/wire/protojson"
	"triplane.dev/generic/storage/wire/required"
)

// Typed represents objects that are Go structs: the built-in kinds. They are kept as the server's storage says, as JSON
// where the Go type has no protobuf. The zero value is the representation of most kinds.
type Typed[T Object] struct {
	// Versions are the versions beside the hub that a server may serve.
	Versions []Version[T]
	// Former are versions that only storage may hold still, written by earlier releases.
	Former []Version[T]
	// StorageVersion is the kind that is written to storage, one of Versions; empty means the hub.
	StorageVersion schema.GroupVersionKind
	// JSON keeps objects as JSON, whatever the server's storage says.
	JSON bool
	// Storage, where set, replaces how objects are written to and read from storage.
	Storage StorageCodec
	// OnRead completes objects of earlier releases beyond Default, which all objects that are read from storage get.
	OnRead OnRead[T]
	// LateDefaults says that some defaults are missing in what creations store, as kube-apiserver stores it. The
	// response of a write has them, like those of reads.
	LateDefaults bool
	// Readable returns what is so wrong with a body of the hub version that it cannot be taken for the kind at all (an
	// annotation that stands for a number): a bad request, not an invalid object. It comes after Default.
	Readable func(T) error
	// Bookmark completes the empty object of a bookmark, where kube-apiserver shows more than nothing (replicas of 0).
	Bookmark func(T)
	// MetadataOnUpdate says how an update validates the metadata. MetadataOnStatus is the same of an update through a
	// subresource.
	MetadataOnUpdate MetadataValidation
	MetadataOnStatus MetadataValidation
	// ValidateFirst validates what errors of a new or changed object report before its metadata; Write.Validate
	// validates the rest.
	ValidateFirst func(T) field.ErrorList
	// AnyFinalizer allows finalizers without a slash besides the standard ones.
	AnyFinalizer bool
}

// OnRead completes objects that earlier releases stored, beyond the defaults.
type OnRead[T Object] struct {
	// Complete fills in what is missing.
	Complete func(T)
	// Fields are those that an object which lacks nothing has, as names in JSON
	// joined with dots. With none of them every object is decoded to be read.
	Fields []string
}

// decides reports whether only Complete shows what an object lacks.
func (r *OnRead[T]) decides() bool { return r.Complete != nil && len(r.Fields) == 0 }

// MetadataValidation is how the metadata of an update is validated, in which kube-apiserver's kinds differ. What is
// invalid by several rules is reported for each, unless the server reports distinct errors.
type MetadataValidation uint8

const (
	// MetadataDefault is MetadataWhole of an update, and MetadataChange of one through a subresource.
	MetadataDefault MetadataValidation = iota
	// MetadataWhole validates the change and the metadata itself, as in a create,
	// beyond MetadataOnce: kinds that validate the whole object again.
	MetadataWhole
	// MetadataOnce validates the change, and what holds for all kinds: those that have
	// no own rules for metadata. A create is held to that when all else is valid.
	MetadataOnce
	// MetadataChange validates the change once more, and the finalizers.
	MetadataChange
)

// structs is a Typed at work.
type structs[T Object] struct {
	Typed[T]
	kind     *Kind[T]
	versions []VersionCodec
	storage  StorageCodec
	form     wire.StoredForm
	empties  *object.Empties // of values that cannot distinguish from absent
	// required validates that a stored message lacks nothing that reading it would complete.
	required func() *required.Fields
	// partial reads selectable fields, of what is stored as protobuf.
	partial *partial[T]
	// table writes that as JSON.
	table func() *protojson.Table
}

// Open implements Representation.
func (t Typed[T]) Open(k *Kind[T], scheme *runtime.Scheme, opts StorageOptions) (Form[T], error) {
	f := &structs[T]{Typed: t, kind: k, storage: t.Storage}
	if f.form = opts.Form; f.JSON {
		f.form = wire.StoredJSON
	}
	f.StorageVersion = f.chooseStorageVersion(opts)
	if err := f.makeCodecs(scheme); err != nil {
		return nil, err
	}
	if f.storage != nil {
		return f, nil
	}
	kept, err := newTypedStorage(f)
	if err != nil {
		return nil, err
	}
	types := opts.Types
	if types == nil {
		types = NewTypes()
	}
	f.required = sync.OnceValue(func() *required.Fields { return required.Of(k.New, k.Write.Default, t.OnRead.Fields) })
	f.table = sync.OnceValue(func() *protojson.Table { return types.json.Of(reflect.TypeFor[T]().Elem(), f.required()) })
	f.storage = kept
	if f.versions[0].Codec.Supports(wire.Protobuf) {
		if f.partial, err = newPartial(f.kind, types); err != nil {
			return nil, err
		}
	}
	if kept.form == wire.StoredProtobuf {
		f.empties = types.emptiesOf(reflect.TypeFor[T]())
	}
	return f, nil
}

// chooseStorageVersion returns the version of the server's options, of the declaration, or the hub.
func (f *structs[T]) chooseStorageVersion(opts StorageOptions) schema.GroupVersionKind {
	if opts.StorageVersion != nil && len(f.Versions) > 0 {
		kinds := []schema.GroupVersionKind{f.kind.Hub}
		for i := range f.Versions {
			kinds = append(kinds, f.Versions[i].Kind)
		}
		if chosen := opts.StorageVersion(kinds); !chosen.Empty() {
			return chosen
		}
	}
	if f.StorageVersion.Empty() {
		return f.kind.Hub
	}
	return f.StorageVersion
}

// makeCodecs makes the codecs of all versions, hub first.
func (f *structs[T]) makeCodecs(scheme *runtime.Scheme) error {
	hub, err := codec.New(scheme, f.kind.Hub, f.hubOptions())
	if err != nil {
		return err
	}
	f.versions = append(f.versions, VersionCodec{GV: f.kind.Hub.GroupVersion(), Codec: hub, Hub: true, Alike: true,
		TypeMeta: wire.TypeMetaPrefix(f.kind.Hub)})
	for i := range f.Versions {
		v := &f.Versions[i]
		codec, err := versionedCodec(scheme, v, f.kind)
		if err != nil {
			return err
		}
		f.versions = append(f.versions, VersionCodec{GV: v.Kind.GroupVersion(), Codec: codec,
			Alike: v.same() && v.FromHub == nil, TypeMeta: wire.TypeMetaPrefix(v.Kind)})
	}
	return nil
}

func (f *structs[T]) hubOptions() codec.Options {
	options := codec.Options{
		New: func() runtime.Object { return f.kind.New() },
		Default: func(obj runtime.Object) {
			if t, ok := obj.(T); ok && f.kind.Write.Default != nil {
				f.kind.Write.Default(t)
			}
		},
	}
	if f.Readable != nil {
		options.ToHub = func(obj runtime.Object) (runtime.Object, error) {
			if t, ok := obj.(T); ok {
				return obj, f.Readable(t)
			}
			return obj, nil
		}
	}
	return options
}

// versionedCodec is the codec of another version than the hub.
func versionedCodec[T Object](scheme *runtime.Scheme, v *Version[T], k *Kind[T]) (rest.Codec, error) {
	o := codec.Options{New: v.New, Default: v.Default}
	if v.same() {
		o.New = func() runtime.Object { return k.New() }
		o.Default = func(obj runtime.Object) { v.defaultAlike(obj, k.Write.Default) }
	}
	o.ToHub = func(obj runtime.Object) (runtime.Object, error) {
		out, err := v.toHub(obj, k.Write.Default)
		return unnamed(out, err)
	}
	o.FromHub = func(obj runtime.Object) (runtime.Object, error) {
		t, ok := obj.(T)
		switch {
		case !ok:
			return nil, NotOfKind(obj, v.Kind)
		case v.FromHub != nil:
			out, err := v.FromHub(t)
			return unnamed(out, err)
		case v.same():
			// A copy, since others may read the object at the same time.
			return object.ViewOf(obj).WithKind(obj, v.Kind), nil
		}
		return nil, fmt.Errorf("registry: %s is only read", v.Kind)
	}
	return codec.New(scheme, v.Kind, o)
}

// unnamed removes the kind that a conversion has copied from the other version, since
// a kind that an object carries counts as its own.
func unnamed[O runtime.Object](obj O, err error) (runtime.Object, error) {
	if err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return obj, nil
}

func (f *structs[T]) Codecs() []VersionCodec { return f.versions }

func (f *structs[T]) StoredAs() schema.GroupVersionKind { return f.StorageVersion }

func (f *structs[T]) EncodeStored(obj T) ([]byte, error) { return f.storage.EncodeStored(obj) }

func (f *structs[T]) DecodeStored(value []byte) (T, error) {
	var none T
	decoded, err := f.storage.DecodeStored(value)
	if err != nil {
		return none, &storage.DecodeError{Err: err}
	}
	obj, ok := decoded.(T)
	if !ok {
		return none, NotOfKind(decoded, f.kind.Hub)
	}
	if f.OnRead.Complete != nil {
		f.OnRead.Complete(obj)
	}
	return obj, nil
}

// Transcode turns stored protobuf of the hub version, if it lacks no defaults, into
// its wire form, and what a Transcoder stores into JSON.
func (f *structs[T]) Transcode(dst []byte, r *storage.Record, version int,
	mt wire.MediaType) (b []byte, ok bool, _ error) {
	v := &f.versions[version]
	if mt != wire.JSON && mt != wire.Protobuf || !v.Alike {
		return nil, false, nil
	}
	if t, ok := f.Storage.(Transcoder); ok && mt == wire.JSON && v.Hub {
		b, err := t.TranscodeJSON(r.Value(), storage.FormatRevision(r.Revision))
		return append(dst, b...), err == nil, nil // decoding says what is wrong
	}
	if mt == wire.JSON {
		message, ok := f.message(r.Value())
		if ok {
			b, ok = f.table().Append(dst, v.TypeMeta, message, storage.FormatRevision(r.Revision))
		}
		return b, ok, nil
	}
	if _, ok = f.plain(r.Value(), true); ok && v.Hub {
		b, ok = wire.AppendWithVersion(dst, r.Value(), storage.FormatRevision(r.Revision))
		return b, ok, nil
	}
	return nil, false, nil
}

// Metadata implements Form for what is stored as Transcode takes it.
func (f *structs[T]) Metadata(r *storage.Record) (json []byte, ok bool) {
	message, ok := f.plain(r.Value(), false)
	if !ok {
		return nil, false
	}
	return f.table().AppendMetadata(nil, message, storage.FormatRevision(r.Revision))
}

func (f *structs[T]) FromStored() bool { return false }

// plain returns the stored message of an object of the hub version that lacks no
// defaults, where inside, of what protobuf has: reading it is decoding it, and no more.
func (f *structs[T]) plain(value []byte, inside bool) ([]byte, bool) {
	message, ok := f.message(value)
	return message, ok && f.required().Holds(message, inside)
}

// message returns the stored message of an object of the hub version, if reading it is decoding it and completing what
// it lacks.
func (f *structs[T]) message(value []byte) ([]byte, bool) {
	if f.Storage != nil || f.OnRead.decides() {
		return nil, false
	}
	e, ok := wire.OpenEnvelope(value)
	return e.Object, ok && e.Is(f.kind.Hub)
}

func (f *structs[T]) Labels(value []byte) (storage.Set, bool) {
	if f.Storage != nil {
		return nil, false
	}
	if r := f.required(); r != nil && r.Labels {
		if _, ok := f.plain(value, true); !ok {
			return nil, false
		}
	}
	return wireLabels(value)
}

func (f *structs[T]) Fields(value []byte) (storage.Set, bool) {
	message, ok := f.plain(value, true)
	if !ok {
		return nil, false
	}
	return f.partial.fields(message)
}

// AsStored empties what protobuf cannot distinguish from absent: an empty list or map,
// which JSON would show where the field is not left out when empty.
func (f *structs[T]) AsStored(obj T) {
	if f.empties != nil {
		f.empties.Clear(reflect.ValueOf(obj).Elem())
	}
	if f.LateDefaults {
		f.kind.Write.Default(obj)
	}
}

func (f *structs[T]) Prepare(_ context.Context, obj, old T, change func(obj, old T)) error {
	change(obj, old)
	return nil
}

func (f *structs[T]) CompleteBookmark(obj T) {
	if f.Bookmark != nil {
		f.Bookmark(obj)
	}
}

func (f *structs[T]) MetadataRules() MetadataRules {
	return MetadataRules{
		OnUpdate:     cmp.Or(f.MetadataOnUpdate, MetadataWhole),
		OnStatus:     cmp.Or(f.MetadataOnStatus, MetadataChange),
		AnyFinalizer: f.AnyFinalizer,
	}
}
