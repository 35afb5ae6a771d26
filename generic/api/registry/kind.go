package registry

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	runtimeutil "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/rest"
)

// Object is what a kind's Go type must be: a pointer to a k8s.io/api struct, or
// *unstructured.Unstructured.
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind declares a resource in one place: what it is called, what a write may
// change and must satisfy, what deletion means, how it is shown and selected.
// NewStore serves it. Nil functions mean nothing special.
//
// What holds for every kind is not declared here but done by Store: object
// metadata rules, generateName, UIDs and times, finalizers, preconditions,
// graceful deletion's bookkeeping, managed fields of system-set fields.
type Kind[T Object] struct {
	// Hub is the kind in its storage version, e.g. apps/v1 Deployment. Its group
	// and Names.Plural name the resource.
	Hub        schema.GroupVersionKind
	Names      Names
	Namespaced bool
	// Prefix is the key below the etcd prefix, without slashes at its ends; ""
	// means Names.Plural. Services are at "services/specs".
	Prefix string
	// TTL of the object's key (events); 0 does not expire.
	TTL func(T) time.Duration
	// Uncached is RESTOptions.Uncached of this kind, whatever the server's (events).
	Uncached bool

	// New returns an empty object, NewList an empty typed list of the hub version. Nil means those of T, and of the
	// Go type that the scheme has for the hub's kind with "List" behind its name.
	New     func() T
	NewList func() runtime.Object

	// Representation is how the objects are stored and encoded: Typed, which
	// nil means, or *Unstructured.
	Representation Representation[T]

	Write  Write[T]
	Delete Delete[T]
	Show   Show[T]
	Select Select[T]

	// Status, where set, adds the subresource "status".
	Status *StatusSubresource[T]
	// Subresources are further ways to update the object ("finalize",
	// "approval", "ephemeralcontainers"), by name.
	Subresources map[string]*UpdateSubresource[T]
	// Scale, where set, adds the subresource "scale".
	Scale *ScaleSubresource[T]

	// Without lists verbs that the main resource does not have, of create,
	// delete, deletecollection, update and watch ("patch" goes with update).
	Without []string
	// Deprecation, where set, is a warning that every request of the kind gets.
	Deprecation string

	plan *plan[T] // of a completed declaration
}

// Names are what discovery calls a resource.
type Names struct {
	Plural     string // "deployments"
	Singular   string // "deployment"; "" means the hub's kind in lower case
	ShortNames []string
	Categories []string
}

// Write is what creations and updates of the main resource may change and must
// satisfy.
type Write[T Object] struct {
	// Default completes an object that a client sent, in the hub version.
	Default func(T)

	// ValidateName validates metadata.name (or the generateName prefix, with
	// prefix true) and returns what is wrong, in the wording of
	// k8s.io/apimachinery/pkg/api/validation. nil means DNS subdomain.
	ValidateName func(name string, prefix bool) []string

	// GenerateName makes a name of a generateName prefix; nil appends a random suffix.
	GenerateName func(prefix string) string

	// Status says which writes set the status of a kind that has the subresource "status": unless it says
	// otherwise, no write does.
	Status StatusWrites
	// Preserves are further fields that updates do not write, as names in JSON joined with dots.
	Preserves []string
	// CountsGeneration has metadata.generation begin with 1 and count the updates that change the spec.
	CountsGeneration bool
	// Changed, where set, reports whether an update raises metadata.generation, whatever the spec.
	Changed func(obj, old T) bool

	// PrepareForCreate drops what else a client may not set at creation, and sets what the server decides.
	// PrepareForUpdate does so in updates; the preserved fields are those of old, and the generation is counted
	// afterwards.
	PrepareForCreate func(ctx context.Context, obj T)
	PrepareForUpdate func(ctx context.Context, obj, old T)
	// DropDisabledLast drops the fields of disabled features after PrepareForUpdate rather than before: what is
	// dropped counts as a change of the object (ResourceSlices).
	DropDisabledLast bool
	// Validate validates a new object, ValidateUpdate a change (it calls Validate
	// itself where the whole object is validated again). Metadata is validated by
	// Store beforehand.
	Validate       func(ctx context.Context, obj T) field.ErrorList
	ValidateUpdate func(ctx context.Context, obj, old T) field.ErrorList
	// Warnings for the client, on create (old is nil) and update.
	Warnings func(ctx context.Context, obj, old T) []string

	// BeginCreate and BeginUpdate run before Validate. They reserve what the object needs outside itself (a cluster
	// IP), or authorize the write. Their error comes before all errors of validation. finish is called with true after
	// the write succeeded, and with false after it failed, to release the reservation. It is not called if storage did
	// not respond: the object may exist. With dryRun nothing durable is reserved.
	BeginCreate func(ctx context.Context, obj T, dryRun bool) (finish func(ctx context.Context, ok bool), err error)
	BeginUpdate func(ctx context.Context, obj, old T, dryRun bool) (finish func(ctx context.Context, ok bool), err error)

	// AllowCreateOnUpdate lets PUT create; AllowUnconditionalUpdate lets PUT
	// without resourceVersion overwrite.
	AllowCreateOnUpdate      bool
	AllowUnconditionalUpdate bool

	// Resets are fields that managed fields drop beside the preserved ones. ResetFields, where set, are all of
	// them by version; see rest.Resource.
	Resets      []string
	ResetFields rest.ResetFields
}

// Delete is what the deletion of an object means.
type Delete[T Object] struct {
	// CheckGraceful, where set, makes deletion graceful: it settles
	// opts.GracePeriodSeconds and reports whether the object has to linger.
	CheckGraceful func(ctx context.Context, obj T, opts *metav1.DeleteOptions) bool
	// GarbageCollection is what becomes of dependents unless the client says
	// otherwise.
	GarbageCollection GarbageCollection
	// Protected, where set, returns why an object must not be deleted, "" if it may be.
	Protected func(T) string
	// ReturnsObject answers a finished deletion with the object instead of a
	// Status (pods, services, namespaces...).
	ReturnsObject bool
	// Hold reports whether a marked object must stay although its metadata holds
	// no finalizers (namespaces with spec.finalizers).
	Hold func(T) bool
	// Mark, where set, begins the deletion of an object that is not marked yet: it
	// changes the object (a Terminating phase) and reports that the object is to be
	// marked and kept, whatever its finalizers, until a later deletion or update
	// finds nothing that holds it. obj is a copy.
	Mark func(ctx context.Context, obj T) bool
	// UnmetPrecondition begins the message about preconditions that an object with Mark does not meet; "" is
	// "Precondition failed".
	UnmetPrecondition string
	// MarkPropagates adds the finalizers of the wanted propagation to a marked object.
	MarkPropagates bool
	// Warnings for the client of a deletion, of one object or of a collection,
	// whatever comes of it.
	Warnings func(opts *metav1.DeleteOptions) []string
	// After is called when the object is gone from storage (not on dry run).
	After func(ctx context.Context, obj T)
}

// Show is how objects are shown as rows of a table.
type Show[T Object] struct {
	// Columns of the table; nil means Name and Created At.
	Columns []Column
	// Cells returns the cells of a row, one for each of Columns. Ages are left to
	// since, whose result may be a part of a cell's text: rows are encoded once and
	// kept with the object, and an age is of the moment a row is written.
	Cells func(obj T, since func(metav1.Time) string) []any
	// RowConditions, where set, adds conditions to a row (a completed pod).
	RowConditions func(obj T) []metav1.TableRowCondition
	// Compare, where set, is the order of a table's rows, of each page by itself. It is
	// for kinds of few objects: their tables are made of decoded objects.
	Compare func(a, b T) int
}

// Select is what field selectors may name beside metadata.name and
// metadata.namespace.
type Select[T Object] struct {
	Fields []SelectableField[T]
	// Labels, where set, are all labels that field selectors may name beside those
	// of the metadata, with the Path of the field that each means: for a kind whose
	// served version names its fields in another way than the hub.
	Labels map[string]string
	// Unknown is how other labels are refused, with %q for the label; "" is how
	// most kinds do it.
	Unknown string
	// Index is a selectable field that many single-valued watches use
	// (spec.nodeName of pods): the cache wakes only the watchers it concerns.
	Index string
}

// GarbageCollection is what happens to dependents when a client does not say.
type GarbageCollection string

// The policies.
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

// NameColumn is the first column of nearly every table.
func NameColumn() Column {
	return Column{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]}
}

// AgeColumn is the column of the time since the object was created.
func AgeColumn() Column {
	return Column{Name: "Age", Type: "string", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]}
}

// SelectableField is a field that field selectors may name.
type SelectableField[T Object] struct {
	Path string // "spec.nodeName"
	Get  func(T) string
	// Reads are the fields that Get looks at, as names in JSON joined with dots; nil
	// means Path. Get may see an object that has no others.
	Reads []string
}

// UpdateSubresource declares a subresource that reads and updates the whole object under separate rules.
type UpdateSubresource[T Object] struct {
	// Preserves are the fields that the subresource does not write, as names in JSON joined with dots. "status"
	// preserves the spec, whatever it says here.
	Preserves []string
	// Metadata is the part of the metadata that it does not write.
	Metadata PreservedMetadata
	// CountsGeneration is as that of Write.
	CountsGeneration bool
	// PrepareForUpdate resets what else the subresource may not change.
	PrepareForUpdate func(ctx context.Context, obj, old T)
	// BeginUpdate is as that of Write.
	BeginUpdate func(ctx context.Context, obj, old T, dryRun bool) (finish func(ctx context.Context, ok bool), err error)
	// ValidateUpdate validates the change; metadata is validated beforehand.
	ValidateUpdate func(ctx context.Context, obj, old T) field.ErrorList
	// Warnings for the client.
	Warnings func(ctx context.Context, obj, old T) []string
	// Resets and ResetFields are as those of Write.
	Resets      []string
	ResetFields rest.ResetFields
	// UpdateOnly leaves out get and patch (namespaces/finalize).
	UpdateOnly bool
	// NoTable answers 406 to clients that accept only tables.
	NoTable bool

	plan *plan[T] // of a completed declaration
}

// StatusSubresource declares what an update of "status" may change and must
// satisfy.
type StatusSubresource[T Object] = UpdateSubresource[T]

// ScaleSubresource declares how autoscaling/v1 Scale reads and writes the kind, or one
// version of it.
type ScaleSubresource[T Object] struct {
	// Get returns the scale or, beside ErrNoReplicas, what else there is to show.
	Get func(T) (*Scale, error)
	// Set writes the wanted replicas.
	Set func(obj T, replicas int32) error
	// ReplicasPaths are the fields that a scale's managed fields map to in the
	// object, by apiVersion, nil in one without a scale: "spec.replicas" in all
	// unless given.
	ReplicasPaths managedfields.ResourcePathMappings
}

// Scale is the part of an autoscaling/v1 Scale that differs by kind.
type Scale struct {
	Replicas       int32
	StatusReplicas int32
	Selector       string
}

// Complete returns a copy of the declaration with the constructors and the name that it leaves open. The list is of the
// scheme; there is none where the scheme does not have it. It fails where T lacks a field that the declaration names.
// NewStore completes its kind itself.
func (k *Kind[T]) Complete(scheme *runtime.Scheme) (*Kind[T], error) {
	c := *k
	object := reflect.TypeFor[T]()
	if c.New == nil && object.Kind() != reflect.Pointer || c.Names.Plural == "" {
		return nil, fmt.Errorf("registry: kind %s needs New and Names.Plural", c.Hub)
	}
	if c.New == nil {
		c.New = func() T { return reflect.New(object.Elem()).Interface().(T) }
	}
	if list := c.Hub.GroupVersion().WithKind(c.Hub.Kind + "List"); c.NewList == nil && scheme.Recognizes(list) {
		c.NewList = func() runtime.Object {
			obj, err := scheme.New(list)
			runtimeutil.Must(err) // the scheme recognizes it
			return obj
		}
	}
	if c.Names.Singular == "" {
		c.Names.Singular = strings.ToLower(c.Hub.Kind)
	}
	return &c, c.plans()
}
