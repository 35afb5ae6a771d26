package rest

import (
	"context"
	"io"
	"net/http"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"triplane/generic/storage/wire"
)

// Storage is what every resource and subresource is.
type Storage interface {
	// New returns an empty object of the kind that requests carry, in the hub
	// version.
	New() runtime.Object
}

// Scoper reports whether the resource lives in namespaces. Subresources take it
// from their parent.
type Scoper interface{ NamespaceScoped() bool }

// NameProvider gives the names that discovery shows beside the plural.
type NameProvider interface {
	SingularName() string
	ShortNames() []string
	Categories() []string
}

// KindProvider overrides the kind that requests carry where it is not of the
// group version that is being installed, as for autoscaling/v1 Scale.
type KindProvider interface {
	Kind(containing schema.GroupVersion) schema.GroupVersionKind
}

// GroupVersionAcceptor accepts bodies of versions beside that of the resource's
// kind, whose fields are the same.
type GroupVersionAcceptor interface {
	AcceptsGroupVersion(gv schema.GroupVersion) bool
}

// CodecProvider gives the Codec for a served version of the resource; without
// it the APIInstaller makes one from the group's scheme.
type CodecProvider interface {
	CodecFor(gv schema.GroupVersion) (Codec, error)
}

// FieldLabelConvertor validates the labels of field selectors in the served
// version and translates them to those of the hub version, which is what a Lister, Watcher
// or CollectionDeleter gets. Without it any label may be selected by.
type FieldLabelConvertor interface {
	ConvertFieldLabel(label, value string) (hubLabel, hubValue string, err error)
}

// Defaulter fills in what the requests of a resource without a Codec of its own
// may leave out.
type Defaulter interface{ Default(obj runtime.Object) }

// Deprecated is implemented by resources all of whose requests are answered with
// a warning; "" is none.
type Deprecated interface{ DeprecationWarning() string }

// ValidateObjectFunc validates an object before it is created or deleted, e.g. by
// validating admission.
type ValidateObjectFunc func(ctx context.Context, obj runtime.Object) error

// ValidateObjectUpdateFunc validates an update.
type ValidateObjectUpdateFunc func(ctx context.Context, obj, old runtime.Object) error

// Getter serves get.
type Getter interface {
	Get(ctx context.Context, name string, opts *metav1.GetOptions) (runtime.Object, error)
}

// GetterWithOptions serves get for subresources whose query carries more.
type GetterWithOptions interface {
	GetWithOptions(ctx context.Context, name string, opts runtime.Object) (runtime.Object, error)
	// NewGetOptions returns the empty options object of the query.
	NewGetOptions() runtime.Object
}

// Lister serves list. The result is a *StoredList, or a typed list.
type Lister interface {
	NewList() runtime.Object
	List(ctx context.Context, opts *metainternalversion.ListOptions) (runtime.Object, error)
	TableConvertor
}

// TableConvertor shows objects as a table.
type TableConvertor interface {
	// ConvertToTable takes a decoded object, or list, in the hub version.
	ConvertToTable(ctx context.Context, obj runtime.Object, opts *metav1.TableOptions) (*metav1.Table, error)
}

// TableRefuser is storage that shows some of its resources as no table.
type TableRefuser interface {
	RefusesTable() bool
}

// RowEncoder is a TableConvertor that makes the rows of stored objects one at a
// time, as bytes that can be kept with the object: tables of long lists are then
// written without decoding what is in them again.
type RowEncoder interface {
	// RowColumns are the definitions of the columns.
	RowColumns() []metav1.TableColumnDefinition
	// Row is the row of an item of a list. ok is false where the kind orders its
	// rows, and where the item is of another storage.
	Row(item Stored) (row wire.Row, ok bool, err error)
}

// Creater serves create. The results of writes may be Stored, too: they are
// answered with the bytes that watchers get. Writes return storage.ErrTooLarge
// for an object that storage does not take for its size.
type Creater interface {
	Create(ctx context.Context, obj runtime.Object, validate ValidateObjectFunc, opts *metav1.CreateOptions) (runtime.Object, error)
}

// NamedCreater serves create on a subresource of a named object, as for
// pods/eviction.
type NamedCreater interface {
	CreateNamed(ctx context.Context, name string, obj runtime.Object, validate ValidateObjectFunc, opts *metav1.CreateOptions) (runtime.Object, error)
}

// UpdatedObjectInfo computes the new object from the present one. It may be
// asked several times, when writers race.
type UpdatedObjectInfo interface {
	// Preconditions that the present object must meet, nil for none.
	Preconditions() *metav1.Preconditions
	// UpdatedObject returns the new object; old is empty where the object does
	// not exist and is not to be changed.
	UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error)
}

// Updater serves update, patch and apply. created is true where the object did not
// exist before. forceAllowCreate lets apply create where the kind does not allow
// create on update.
type Updater interface {
	Update(ctx context.Context, name string, info UpdatedObjectInfo, validateCreate ValidateObjectFunc,
		validateUpdate ValidateObjectUpdateFunc, forceAllowCreate bool, opts *metav1.UpdateOptions) (obj runtime.Object, created bool, err error)
}

// Patcher is what patch needs.
type Patcher interface {
	Getter
	Updater
}

// GracefulDeleter serves delete. deleted is true where the object is gone now,
// rather than marked; the result is the object, or a Status.
type GracefulDeleter interface {
	Delete(ctx context.Context, name string, validate ValidateObjectFunc, opts *metav1.DeleteOptions) (obj runtime.Object, deleted bool, err error)
}

// MayReturnFullObject is implemented by deleters that answer with the object
// itself where it is gone, rather than a Status.
type MayReturnFullObject interface {
	DeleteReturnsDeletedObject() bool
}

// CollectionDeleter serves deletecollection.
type CollectionDeleter interface {
	DeleteCollection(ctx context.Context, validate ValidateObjectFunc, opts *metav1.DeleteOptions, list *metainternalversion.ListOptions) (runtime.Object, error)
}

// Watcher serves watch.
type Watcher interface {
	Watch(ctx context.Context, opts *metainternalversion.ListOptions) (EventStream, error)
}

// Event is one event of a watch. Object is Stored, a Status for Error, or for a
// Bookmark an empty object of the kind with its resourceVersion (and
// annotations) set.
type Event struct {
	Type   watch.EventType
	Object runtime.Object
}

// EventStream is a running watch. It belongs to one goroutine.
type EventStream interface {
	// Next blocks until there are events and returns those at hand. An API
	// status error ends the stream and reaches the client as an Error event;
	// ctx.Err() and io.EOF end it silently.
	Next(ctx context.Context) ([]Event, error)
	// Initializing reports whether Next still has initial events to return.
	Initializing() bool
	Stop()
}

// Connecter serves subresources that take over the connection, or proxy.
type Connecter interface {
	// Connect returns the handler that answers this request. Errors go through
	// responder.
	Connect(ctx context.Context, name string, opts runtime.Object, responder Responder) (http.Handler, error)
	// NewConnectOptions returns the empty options object of the query (nil for
	// none), whether the rest of the path belongs to it, and its parameter.
	NewConnectOptions() (opts runtime.Object, subpath bool, subpathKey string)
	ConnectMethods() []string
}

// Responder writes the answer of a Connecter that does not write it itself.
type Responder interface {
	Object(status int, obj runtime.Object)
	Error(err error)
}

// ResetFieldsProvider returns, by version ("apps/v1"), which fields managed fields
// forget because the endpoint resets them (status on the main resource, all but
// status on the status subresource). Values are *fieldpath.Set in
// ResetFields.
type ResetFieldsProvider interface {
	GetResetFields() ResetFields
}

// Streamer is what Get may return instead of an object: bytes of another kind,
// as a pod's log.
type Streamer interface {
	runtime.Object
	// InputStream opens the bytes. flush asks to send each piece at once; a nil
	// stream is answered 204.
	InputStream(ctx context.Context, apiVersion, accept string) (stream io.ReadCloser, flush bool, contentType string, err error)
}

// ObjectMetaPreserver is implemented by NamedCreaters that need the system-set
// metadata (uid) which clients send, as pods/binding does.
type ObjectMetaPreserver interface{ PreserveObjectMeta() bool }

// StorageVersioner returns the kind that storage holds, where it is not the hub's
// (discovery shows its hash).
type StorageVersioner interface {
	StorageVersion() schema.GroupVersionKind
}

// StorageMetadata returns what OpenAPI cannot know of a storage: further media
// types, and another Go type, that an HTTP method answers with (pods/log).
type StorageMetadata interface {
	ProducesMIMETypes(method string) []string
	ProducesObject(method string) any
}
