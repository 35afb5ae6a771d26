package rest

import (
	"context"
	"net/http"
	"slices"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/storage/wire"
)

// Resource is what serves a resource or subresource: a description, and the verbs. A nil verb is
// not supported; patch and apply need Get and Update. The functions are called concurrently. A
// Resource may be changed until it is installed.
type Resource struct {
	// New returns an empty object of the kind that requests carry, in the hub version, and NewList
	// an empty list of the hub version, which List needs.
	New     func() runtime.Object
	NewList func() runtime.Object
	// Kind is the kind that requests carry. Zero means that of Codec, or what the group's scheme
	// has for New, in the group version that is installed.
	Kind schema.GroupVersionKind
	// Accepts are versions beside that of the kind, with the same fields, that bodies may have.
	Accepts []schema.GroupVersion
	// Codec returns the codec of a served version. Nil means one that the group's scheme makes,
	// with Default, which fills in what requests may leave out.
	Codec   func(gv schema.GroupVersion) (Codec, error)
	Default func(obj runtime.Object)
	// Versions are the served versions that Codec has; admission may ask for any of them.
	Versions []schema.GroupVersion
	// StorageVersion is the kind that storage holds (discovery shows its hash). Zero means the hub
	// version of what can be watched.
	StorageVersion schema.GroupVersionKind

	// Namespaced and Deprecation, a warning for all requests, of a subresource are those of its resource.
	Namespaced  bool
	Deprecation string
	// Singular is the singular name in discovery, "" the kind in lower case.
	Singular               string
	ShortNames, Categories []string

	// ResetFields are the fields that managed fields omit because the endpoint resets them: the
	// status of the resource, all but the status of the subresource "status".
	ResetFields ResetFields
	// FieldLabel validates a label of field selectors in the served version, and translates it to
	// the hub version, which List, Watch and DeleteCollection get. Nil allows any.
	FieldLabel func(version schema.GroupVersion, label, value string) (hubLabel, hubValue string, err error)
	// ReturnsDeleted reports whether Delete in a version responds with the object rather than a Status once it is
	// gone. Nil means that none does.
	ReturnsDeleted func(version string) bool
	// KeepsMetadata gives Create the system-set metadata (uid) that clients send, as for pods/binding.
	KeepsMetadata bool
	// MediaTypes and Sample are what OpenAPI cannot know: further media types of responses, and a
	// value of another Go type than New's (pods/log).
	MediaTypes []string
	Sample     any

	// NewOptions, where set, returns the empty options object of the query of Get or Connect.
	NewOptions func() runtime.Object

	// Get returns an object, maybe a Stored one or a Streamer.
	Get func(ctx context.Context, r GetRequest) (runtime.Object, error)
	// List returns a *StoredList or a typed list.
	List  func(ctx context.Context, opts *metainternalversion.ListOptions) (runtime.Object, error)
	Watch func(ctx context.Context, opts *metainternalversion.ListOptions) (EventStream, error)
	// Create and Update return what they wrote, maybe a Stored object: clients get the bytes that
	// watchers get. They return storage.ErrTooLarge for an object that storage rejects for its size.
	Create func(ctx context.Context, r CreateRequest) (runtime.Object, error)
	// Update serves update, patch and apply. created is true if the object did not exist before.
	Update func(ctx context.Context, r UpdateRequest) (obj runtime.Object, created bool, err error)
	// Delete returns the object, or a Status. deleted is true if the object is gone rather than marked.
	Delete           func(ctx context.Context, r DeleteRequest) (obj runtime.Object, deleted bool, err error)
	DeleteCollection func(ctx context.Context, r DeleteCollectionRequest) (runtime.Object, error)

	// Connect returns the handler of a request that takes over the connection, or is proxied. Its
	// errors go through the Responder.
	Connect        func(ctx context.Context, r ConnectRequest) (http.Handler, error)
	ConnectMethods []string
	// ConnectPath is the option that holds the rest of the path, "" if no path may follow.
	ConnectPath string

	// ConvertToTable takes a decoded object or list in the hub version. Nil means a table of names
	// and ages for what has Get or List. NoTable answers tables with 406.
	ConvertToTable func(ctx context.Context, obj runtime.Object, opts *metav1.TableOptions) (*metav1.Table, error)
	NoTable        bool
	// Row, where set, returns the row of an item of a list in bytes that can be kept with the object:
	// long lists are then written without decoding them again. ok is false where the kind orders its
	// rows, and where the item is of another storage. RowColumns are the definitions of the columns.
	Row        func(item Stored) (row wire.Row, ok bool, err error)
	RowColumns func() []metav1.TableColumnDefinition
}

// Patches reports whether the resource supports patch and apply.
func (r *Resource) Patches() bool { return r.Get != nil && r.Update != nil }

// AcceptsVersion reports whether Accepts has a version.
func (r *Resource) AcceptsVersion(gv schema.GroupVersion) bool { return slices.Contains(r.Accepts, gv) }
