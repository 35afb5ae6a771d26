package kind

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/object"
	"triplane.dev/generic/storage/wire"
)

// Representation is the encoding of the objects of a kind in storage and on the wire, with access to their metadata.
// Typed represents Go structs, Unstructured trees of JSON values.
type Representation[T Object] interface {
	// Open makes the Representation of one kind; the scheme knows its Go types.
	Open(k *Kind[T], scheme *runtime.Scheme, opts StorageOptions) (Form[T], error)
}

// StorageOptions are the options of the server's storage that decide how objects are encoded.
type StorageOptions struct {
	// Form is how kinds of Go types are stored, if they have it.
	Form wire.StoredForm
	// Types is what is known of Go types. All kinds share it; nil makes one for each kind.
	Types *Types
	// Resource is the resource of the kind; empty for one that shares no definition with those of other chains.
	Resource schema.GroupResource
	// StorageVersion, where set, returns in which of a typed kind's versions, the hub first, objects are stored. The
	// empty kind leaves that to the declaration.
	StorageVersion func(versions []schema.GroupVersionKind) schema.GroupVersionKind
}

// Open returns the Representation of a completed declaration, for the options of a server.
func (k *Kind[T]) Open(scheme *runtime.Scheme, opts StorageOptions) (Form[T], error) {
	if k.Representation == nil {
		return Typed[T]{}.Open(k, scheme, opts)
	}
	return k.Representation.Open(k, scheme, opts)
}

// View returns the operations on objects of the kind.
func (k *Kind[T]) View() object.View {
	var none T
	return object.ViewOf(none)
}

// Form is the Representation of one kind at work. It is safe for concurrent use.
type Form[T Object] interface {
	// Codecs are those of the served versions, the hub's first.
	Codecs() []VersionCodec
	// StoredAs is the kind that storage holds.
	StoredAs() schema.GroupVersionKind
	// EncodeStored returns the value for storage of an object of the hub version
	// whose resourceVersion and selfLink are empty. It may prune the object.
	EncodeStored(obj T) ([]byte, error)
	// DecodeStored parses a value into a new object of the hub version, without a resourceVersion.
	DecodeStored(value []byte) (T, error)
	// Transcode appends the wire form of a record to dst without a decoded object in between. nil dst allocates. ok is
	// false where it cannot.
	Transcode(dst []byte, r *storage.Record, version int, mt wire.MediaType) (b []byte, ok bool, err error)
	// Metadata returns the JSON of a record's metadata, with its revision, without a decoded object in between. ok is
	// false where it cannot.
	Metadata(r *storage.Record) (json []byte, ok bool)
	// FromStored reports whether the answer to a write that cannot be transcoded is made of the bytes that were stored
	// all the same, rather than of the object that they were made of.
	FromStored() bool
	// Labels and fields read what selectors look at out of a value, without a decoded
	// object. ok is false where they cannot.
	Labels(value []byte) (set storage.Set, ok bool)
	Fields(value []byte) (set storage.Set, ok bool)
	// AsStored makes an object that has just been written what a reader of storage will see.
	AsStored(obj T)
	// Prepare runs change, which resets what a request may not write, on an object of the hub version, and on what it
	// replaces (the zero T for a new one). change may see both in the version of the request instead.
	Prepare(ctx context.Context, obj, old T, change func(obj, old T)) error
	// CompleteBookmark completes the empty object of a bookmark.
	CompleteBookmark(obj T)
	// MetadataRules are what the metadata of the kind must satisfy beside what holds for all.
	MetadataRules() MetadataRules
}

// MetadataRules are how a kind validates metadata.
type MetadataRules struct {
	OnUpdate     MetadataValidation
	OnStatus     MetadataValidation
	AnyFinalizer bool
}

// VersionCodec is a served version and the wire forms that it has.
type VersionCodec struct {
	GV    schema.GroupVersion
	Codec rest.Codec
	// Hub is true where objects of the version are what storage holds.
	Hub bool
	// Alike is true where they are of the hub's Go type, and differ in their apiVersion at most.
	Alike bool
	// TypeMeta is how JSON of typed objects begins, with what items of lists leave out.
	TypeMeta []byte
}

// StorageCodec is how the objects of a kind are kept in storage.
type StorageCodec interface {
	// EncodeStored returns the value for storage of an object of the hub
	// version whose resourceVersion and selfLink are empty.
	EncodeStored(obj runtime.Object) ([]byte, error)
	// DecodeStored parses a value into a new object of the hub version, without a resourceVersion.
	DecodeStored(value []byte) (runtime.Object, error)
}

// Transcoder is implemented by a StorageCodec that makes JSON of the hub version of stored values faster than
// by decoding them.
type Transcoder interface {
	TranscodeJSON(value []byte, resourceVersion string) ([]byte, error)
}

// UnstructuredStorage is how objects without a Go type are kept.
type UnstructuredStorage interface {
	StorageCodec
	// Transcode appends the wire form of a stored value to dst without a decoded object in between. ok is false where
	// it cannot.
	Transcode(dst, value []byte, resourceVersion string, gv schema.GroupVersion,
		mt wire.MediaType) (b []byte, ok bool, err error)
	// StoredLabels and StoredFields read what selectors look at out of a stored value,
	// without a decoded object. ok is false where they cannot.
	StoredLabels(value []byte) (set storage.Set, ok bool)
	StoredFields(value []byte) (set storage.Set, ok bool)
	// AsStored makes an object what a reader of storage would see, had it been written.
	AsStored(obj *unstructured.Unstructured)
}

// NotOfKind says that an object is not of the store's Go type.
func NotOfKind(obj any, kind schema.GroupVersionKind) error {
	return apierrors.NewInternalError(fmt.Errorf("%T is not what %s is kept as", obj, kind))
}
