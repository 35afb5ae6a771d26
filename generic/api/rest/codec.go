package rest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"triplane.dev/generic/storage/wire"
)

// Codec is how the objects of one resource travel in one served version. It is
// safe for concurrent use.
type Codec interface {
	// Kind is the kind as it is named on the wire.
	Kind() schema.GroupVersionKind
	// New returns an empty object of this version.
	New() runtime.Object
	// Decode parses a body into a new object of this version. The returned kind
	// is what the body itself says, which the caller compares; the body may also
	// be of another served version of the same kind, whose object is returned
	// then. strict lists unknown and duplicate fields, one error each, if asked
	// for. Custom resources are pruned on the way.
	Decode(body []byte, mt wire.MediaType, strict bool) (
		obj runtime.Object, kind *schema.GroupVersionKind, strictErrs []error, err error)
	// Default fills in what the version's defaults say.
	Default(obj runtime.Object)
	// ToHub converts from this version, FromHub to it. They may return their
	// argument, or share parts of it.
	ToHub(obj runtime.Object) (runtime.Object, error)
	FromHub(obj runtime.Object) (runtime.Object, error)
	// Encode writes an object of this version, with its kind and apiVersion, as
	// kube-apiserver does; no trailing newline. nil dst allocates.
	Encode(dst []byte, obj runtime.Object, mt wire.MediaType) ([]byte, error)
	// Supports reports whether the kind can travel so; custom resources have no
	// protobuf.
	Supports(mt wire.MediaType) bool
}

// ConversionError is the error of a conversion between versions for which the object need not be
// to blame, such as one by a webhook that cannot be reached. Clients see it as it is, whatever
// the object was converted for.
type ConversionError struct{ Err error }

// Error implements error.
func (e *ConversionError) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *ConversionError) Unwrap() error { return e.Err }

// Unvalidated is what validation finds where it cannot look at the object. A conversion that fails
// says nothing of the object: the write fails with it, and not as one of an invalid object.
func Unvalidated(err error) *field.Error {
	e := field.InternalError(nil, err)
	e.BadValue = err
	return e
}

// Stored is an object that is still the bytes which storage holds. It stands
// for the object in answers to reads and is immutable.
type Stored interface {
	runtime.Object
	// Wire returns the object encoded for a served version. The bytes are
	// shared and must not be changed. For JSON they begin with
	// {"kind":"K","apiVersion":"V", and end without a newline.
	Wire(gv schema.GroupVersion, mt wire.MediaType) ([]byte, error)
	// AppendWire appends Wire's bytes to dst. It need not keep them for later calls.
	AppendWire(dst []byte, gv schema.GroupVersion, mt wire.MediaType) ([]byte, error)
	// WireItem returns the form that items of a list have in a media type in which it is no part of
	// Wire's bytes, CBOR: built-in kinds leave out kind and apiVersion.
	WireItem(gv schema.GroupVersion, mt wire.MediaType) ([]byte, error)
	// KeptRow returns the row in the tables of a version that is kept with the object, and calls
	// encode if there is none.
	KeptRow(gv schema.GroupVersion, encode func() ([]byte, error)) ([]byte, error)
	// Decode returns a new copy in the hub version.
	Decode() (runtime.Object, error)
	// Shared returns the decoded object for callers that only read it: it must not be changed.
	// Objects that are read for each write, as namespaces are, are decoded once a revision.
	Shared() (runtime.Object, error)
	// ResourceVersion is the revision in the form of the API.
	ResourceVersion() string
}

// StoredList is a list whose items are still bytes. The embedded object kind is
// that of the list in the hub version.
type StoredList struct {
	Items              []Stored
	Kind               schema.GroupVersionKind // of the list, hub version
	ResourceVersion    string
	Continue           string
	RemainingItemCount *int64
	// Shard, where set, says that these are the objects of a shard alone.
	Shard *metav1.ShardInfo
	// Kept, where set, is AppendKept.
	Kept func(dst [][]byte, items []Stored, form Form) [][]byte
}

// Form is a form of stored objects that is kept with them: what Wire returns, or a row.
type Form struct {
	Version   schema.GroupVersion
	MediaType wire.MediaType
	Row       bool // in tables of the version
}

// AppendKept appends to dst what is kept of the form of each of items, a part of Items, or nil where nothing is. It
// looks for many at a time, which takes less than one after the other.
func (l *StoredList) AppendKept(dst [][]byte, items []Stored, form Form) [][]byte {
	if l.Kept != nil {
		return l.Kept(dst, items, form)
	}
	for range items {
		dst = append(dst, nil)
	}
	return dst
}

// GetObjectKind makes a StoredList a runtime.Object.
func (l *StoredList) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the list itself: it is immutable.
func (l *StoredList) DeepCopyObject() runtime.Object { return l }

// ResetFields maps an apiVersion to the fields that an endpoint resets.
type ResetFields map[schema.GroupVersion]*fieldpath.Set
