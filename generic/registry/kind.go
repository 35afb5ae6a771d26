package registry

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/registry/rest"
	"triplane/generic/storage"
	"triplane/generic/wire"
)

// Object is what a kind's Go type must be: a pointer to a k8s.io/api struct, or
// *unstructured.Unstructured.
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind declares a resource in one place: its names, what its defaults are, what
// a write may change and must satisfy, how it is shown. NewStore makes a
// rest.Storage of it. Nil functions mean nothing special.
//
// What holds for every kind is not declared here but done by Store: object
// metadata rules, generateName, UIDs and times, finalizers, preconditions,
// graceful deletion's bookkeeping, managed fields of system-set fields.
type Kind[T Object] struct {
	// Hub is the kind in its storage version, e.g. apps/v1 Deployment. Group
	// and Plural name the resource.
	Hub        schema.GroupVersionKind
	Plural     string // "deployments"
	Singular   string // "deployment"
	ShortNames []string
	Categories []string
	Namespaced bool
	// Prefix is the key below the etcd prefix, without slashes at its ends; ""
	// means Plural. Services are at "services/specs".
	Prefix string
	// TTL of the object's key, 0 for ever (events).
	TTL func(T) time.Duration

	New     func() T
	NewList func() runtime.Object // typed list of the hub version

	// Default completes an object that a client sent, in the hub version; it is
	// also run on objects read from etcd where DefaultOnRead is set.
	Default       func(T)
	DefaultOnRead bool

	// ValidateName judges metadata.name (or the generateName prefix, with
	// prefix true) and returns what is wrong, in the wording of
	// k8s.io/apimachinery/pkg/api/validation. nil means DNS subdomain.
	ValidateName func(name string, prefix bool) []string

	// PrepareForCreate drops what a client may not set at creation (status) and
	// sets what the server decides. PrepareForUpdate puts back what an update of
	// the main resource may not change (status) and raises the generation when
	// the spec changed: see IncrementGeneration.
	PrepareForCreate func(ctx context.Context, obj T)
	PrepareForUpdate func(ctx context.Context, obj, old T)
	// Validate judges a new object, ValidateUpdate a change (it calls Validate
	// itself where the whole object is judged again). Metadata is validated by
	// Store beforehand.
	Validate       func(ctx context.Context, obj T) field.ErrorList
	ValidateUpdate func(ctx context.Context, obj, old T) field.ErrorList
	// Readable tells what is so wrong with a body of the hub version that it
	// cannot be taken for the kind at all (an annotation that stands for a
	// number): a bad request, not an invalid object. It comes after Default.
	Readable func(T) error
	// Warnings for the client, on create (old is nil) and update.
	Warnings func(ctx context.Context, obj, old T) []string

	// BeginCreate and BeginUpdate reserve what the object needs outside itself
	// (a cluster IP), after validation of metadata and before Validate. finish is called once: with true
	// after the write succeeded, with false when it did not and the reservation
	// is to be given back. dryRun reserves nothing durable.
	BeginCreate func(ctx context.Context, obj T, dryRun bool) (finish func(ctx context.Context, ok bool), err error)
	BeginUpdate func(ctx context.Context, obj, old T, dryRun bool) (finish func(ctx context.Context, ok bool), err error)
	// AfterDelete is told that the object is gone from storage (not on dry run).
	AfterDelete func(ctx context.Context, obj T)

	// AllowCreateOnUpdate lets PUT create; AllowUnconditionalUpdate lets PUT
	// without resourceVersion overwrite.
	AllowCreateOnUpdate      bool
	AllowUnconditionalUpdate bool
	// CheckGracefulDelete, where set, makes deletion graceful: it settles
	// opts.GracePeriodSeconds and tells whether the object has to linger.
	CheckGracefulDelete func(ctx context.Context, obj T, opts *metav1.DeleteOptions) bool
	// DefaultOrphan is true for kinds whose dependents are orphaned unless the
	// client says otherwise (replication controllers, jobs).
	DefaultGarbageCollection GarbageCollection
	// DeleteReturnsObject answers a finished deletion with the object instead of
	// a Status (pods, services, namespaces...).
	DeleteReturnsObject bool
	// HoldDeletion tells that a marked object must stay although its metadata
	// holds no finalizers (namespaces with spec.finalizers).
	HoldDeletion func(T) bool
	// MarkDeletion, where set, begins the deletion of an object that is not
	// marked yet: it changes the object (a Terminating phase) and tells that the
	// object is to be marked and kept, whatever its finalizers, until a later
	// deletion or update finds nothing that holds it. It sees a copy of its own.
	MarkDeletion func(ctx context.Context, obj T) bool

	// Columns of the table; nil means Name and Created At.
	Columns []Column
	// Cells fills the cells behind Columns, in order. conditions and so on that
	// kubectl's table rows know go in row.
	Cells func(obj T) []any
	// CellsAt is Cells with the ages left to since, whose result may be a part of
	// a cell's text. With it, rows are encoded once and kept with the object; Cells
	// is not needed then.
	CellsAt func(obj T, since func(metav1.Time) string) []any
	// Rows, where set, adds conditions to a row (a completed pod).
	RowConditions func(obj T) []metav1.TableRowCondition

	// Fields are the selectable fields beside metadata.name and
	// metadata.namespace.
	Fields []SelectableField[T]
	// FieldAliases are other names of selectable fields, e.g. "spec.host".
	FieldAliases map[string]string
	// FieldLabels, where set, are all labels that field selectors may name beside
	// those of the metadata, with the Path of the field that each means: for a
	// kind whose served version names its fields in another way than the hub.
	FieldLabels map[string]string
	// UnknownField is how other labels are refused, with %q for the label; "" is
	// how most kinds do it.
	UnknownField string
	// IndexField is a selectable field that many single-valued watches use
	// (spec.nodeName of pods): the cache wakes only the watchers it concerns.
	IndexField string

	// ResetFields of the main resource; see rest.ResetFieldsProvider.
	ResetFields rest.ResetFields
	// Status, where set, adds the subresource "status".
	Status *StatusSubresource[T]
	// Subresources are further ways to update the object ("finalize",
	// "approval", "ephemeralcontainers"), by name.
	Subresources map[string]*UpdateSubresource[T]
	// Scale, where set, adds the subresource "scale".
	Scale *ScaleSubresource[T]

	// Versions are served versions other than Hub's, with their conversions.
	Versions []Version[T]

	// Bookmark completes the empty object of a bookmark, where kube-apiserver shows
	// more than nothing (replicas of 0).
	Bookmark func(T)

	// Without lists verbs that the main resource does not have, of create,
	// delete, deletecollection, update and watch ("patch" goes with update).
	Without []string
	// StoreAsJSON keeps objects as JSON rather than protobuf, as Go types
	// without protobuf always are.
	StoreAsJSON bool
	// Storage, where set, replaces how objects are written to and read from
	// storage (custom resources, CustomResourceDefinitions).
	Storage StorageCodec
	// StorageVersion is the kind that storage holds, where it is not Hub: one of
	// Versions, unless Storage is set. Versions that are only stored are declared
	// like others, and not installed.
	StorageVersion schema.GroupVersionKind
	// CodecFor, where set, gives the codec of a served version instead of one
	// made from the scheme; the store then takes the served versions from
	// ServedVersions.
	CodecFor func(gv schema.GroupVersion) (rest.Codec, error)
	// ServedVersions are the versions besides Hub's and Versions' that CodecFor
	// knows.
	ServedVersions []schema.GroupVersion
	// MetadataOnUpdate says how often an update judges the metadata, which
	// shows in the causes of the error.
	MetadataOnUpdate MetadataValidation
	// AnyFinalizer allows finalizers without a slash besides the standard ones
	// (leases, custom resources).
	AnyFinalizer bool
	// Deprecation, where set, is a warning that every request of the kind gets.
	Deprecation string
}

// MetadataValidation is how the metadata of an update is judged. The rules are
// the same; kube-apiserver's kinds differ in which causes they tell twice.
type MetadataValidation uint8

const (
	// MetadataWhole judges the metadata as in a create, and the change, each
	// twice: kinds that validate the whole object again on update.
	MetadataWhole MetadataValidation = iota
	// MetadataChange judges the change twice, the metadata itself once.
	MetadataChange
	// MetadataOnce judges everything once.
	MetadataOnce
)

// StorageCodec is how the objects of a kind are kept in storage.
type StorageCodec interface {
	// EncodeStored returns the value for storage of an object of the hub
	// version whose resourceVersion and selfLink are empty.
	EncodeStored(obj runtime.Object) ([]byte, error)
	// DecodeStored parses a value into a new object of the hub version, without
	// a resourceVersion.
	DecodeStored(value []byte) (runtime.Object, error)
}

// StorageTranscoder is implemented by StorageCodecs that can turn a stored
// value into its wire form without a decoded object in between. ok is false
// where they cannot.
type StorageTranscoder interface {
	Transcode(value []byte, resourceVersion string, gv schema.GroupVersion, mt wire.MediaType) (b []byte, ok bool, err error)
}

// StorageAttributes is implemented by StorageCodecs that can read what selectors
// look at out of a stored value, without a decoded object. ok is false where they
// cannot.
type StorageAttributes interface {
	StoredAttributes(value []byte) (a storage.Attributes, ok bool)
}

// GarbageCollection is what happens to dependents when a client does not say.
type GarbageCollection string

const (
	DeleteDependents GarbageCollection = ""
	OrphanDependents GarbageCollection = "Orphan"
	// Unsupported makes propagation of no effect (events).
	Unsupported GarbageCollection = "Unsupported"
)

// Column is a column of a kind's table. Priority above 0 is for "-o wide".
type Column struct {
	Name, Type, Format, Description string
	Priority                        int32
}

// SelectableField is a field that field selectors may name.
type SelectableField[T Object] struct {
	Path string // "spec.nodeName"
	Get  func(T) string
}

// UpdateSubresource declares a subresource that reads and updates the whole
// object under rules of its own.
type UpdateSubresource[T Object] struct {
	// PrepareForUpdate puts back what the subresource may not change.
	PrepareForUpdate func(ctx context.Context, obj, old T)
	// ValidateUpdate judges the change; metadata is judged beforehand.
	ValidateUpdate func(ctx context.Context, obj, old T) field.ErrorList
	// Warnings for the client.
	Warnings    func(ctx context.Context, obj, old T) []string
	ResetFields rest.ResetFields
	// UpdateOnly leaves out get and patch (namespaces/finalize).
	UpdateOnly bool
}

// StatusSubresource declares what an update of "status" may change and must
// satisfy.
type StatusSubresource[T Object] = UpdateSubresource[T]

// ScaleSubresource declares how autoscaling/v1 Scale reads and writes the kind.
type ScaleSubresource[T Object] struct {
	Get func(T) (*Scale, error)
	// Set writes the wanted replicas.
	Set func(obj T, replicas int32)
	// ReplicasPath is the field that a scale's managed fields map to in the
	// object, by apiVersion: "spec.replicas" unless given.
	ReplicasPath []string
}

// Scale is the part of an autoscaling/v1 Scale that differs by kind.
type Scale struct {
	Replicas       int32
	StatusReplicas int32
	Selector       string
}

// Version is another served version of a kind.
type Version[T Object] struct {
	Kind    schema.GroupVersionKind
	New     func() runtime.Object
	NewList func() runtime.Object
	// Default runs before ToHub.
	Default func(runtime.Object)
	ToHub   func(runtime.Object) (T, error)
	FromHub func(T) (runtime.Object, error)
}
