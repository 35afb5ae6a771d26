package registry

import (
	"context"

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
	// open makes the Representation of one kind; the scheme knows its Go types.
	open(k *Kind[T], scheme *runtime.Scheme, opts RESTOptions) (form[T], error)
}

// form is the Representation of one kind at work. It is safe for concurrent use.
type form[T Object] interface {
	view() object.View
	// codecs are those of the served versions, the hub's first.
	codecs() []versionCodec
	// storageVersion is the kind that storage holds.
	storageVersion() schema.GroupVersionKind
	// encodeStored returns the value for storage of an object of the hub version
	// whose resourceVersion and selfLink are empty. It may prune the object.
	encodeStored(obj T) ([]byte, error)
	// decodeStored parses a value into a new object of the hub version, without a
	// resourceVersion.
	decodeStored(value []byte) (T, error)
	// transcode makes the wire form of a record without a decoded object in
	// between. ok is false where it cannot.
	transcode(r *storage.Record, version int, mt wire.MediaType) (b []byte, ok bool, err error)
	// ofBytes reports whether the answer to a write that cannot be transcoded is made of
	// the bytes that were stored all the same, rather than of the object that they were
	// made of.
	ofBytes() bool
	// labels and fields read what selectors look at out of a value, without a decoded
	// object. ok is false where they cannot.
	labels(value []byte) (set storage.Set, ok bool)
	fields(value []byte) (set storage.Set, ok bool)
	// asStored makes an object that has just been written what a reader of
	// storage will see.
	asStored(obj T)
	// prepare runs change, which resets what a request may not write, on an object of the hub
	// version, and on what it replaces (the zero T for a new one). change may see both in
	// the version of the request instead.
	prepare(ctx context.Context, obj, old T, change func(obj, old T)) error
	// bookmark completes the empty object of a bookmark.
	bookmark(obj T)
	// metadataRules are what the metadata of the kind must satisfy beside what
	// holds for all.
	metadataRules() metadataRules
}

type metadataRules struct {
	onUpdate     MetadataValidation
	onStatus     MetadataValidation
	anyFinalizer bool
}

// versionCodec is a served version and the wire forms that it has.
type versionCodec struct {
	gv    schema.GroupVersion
	codec rest.Codec
	// hub is true where objects of the version are what storage holds.
	hub bool
	// alike is true where they are of the hub's Go type, and differ in their apiVersion
	// at most.
	alike bool
	// typeMeta is how JSON of typed objects begins, with what items of lists
	// leave out.
	typeMeta []byte
}

// StorageCodec is how the objects of a kind are kept in storage.
type StorageCodec interface {
	// EncodeStored returns the value for storage of an object of the hub
	// version whose resourceVersion and selfLink are empty.
	EncodeStored(obj runtime.Object) ([]byte, error)
	// DecodeStored parses a value into a new object of the hub version, without
	// a resourceVersion.
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
	// Transcode turns a stored value into its wire form without a decoded object
	// in between. ok is false where it cannot.
	Transcode(value []byte, resourceVersion string, gv schema.GroupVersion,
		mt wire.MediaType) (b []byte, ok bool, err error)
	// StoredLabels and StoredFields read what selectors look at out of a stored value,
	// without a decoded object. ok is false where they cannot.
	StoredLabels(value []byte) (set storage.Set, ok bool)
	StoredFields(value []byte) (set storage.Set, ok bool)
	// AsStored makes an object what a reader of storage would see, had it been
	// written.
	AsStored(obj *unstructured.Unstructured)
}
