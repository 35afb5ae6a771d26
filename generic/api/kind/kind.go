package kind

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// Kind declares a resource in one place: what it is called, what a write may change and must satisfy, what deletion
// means, how it is shown and selected. NewStore serves it. Nil functions mean nothing special.
//
// What holds for every kind is not declared here but done by Store: object metadata rules, generateName, UIDs and
// times, finalizers, preconditions, graceful deletion's bookkeeping, managed fields of system-set fields.
type Kind[T Object] struct {
	// Hub is the kind in its storage version, e.g. apps/v1 Deployment; empty means that of T in the scheme. Its group
	// and Names.Plural name the resource.
	Hub        schema.GroupVersionKind
	Names      Names
	Namespaced bool
	// Prefix is the key below the etcd prefix, without slashes at its ends; ""
	// means Names.Plural. Services are at "services/specs".
	Prefix string
	// TTL of the object's key (events); 0 does not expire. Kinds with a TTL are uncached, as RESTOptions.Uncached has it.
	TTL func(T) time.Duration

	// New returns an empty object, NewList an empty typed list of the hub version. Nil means those of T, and of the
	// Go type that the scheme has for the hub's kind with "List" behind its name.
	New     func() T
	NewList func() runtime.Object

	// Representation is how the objects are stored and encoded: Typed, which nil means, or *Unstructured.
	Representation Representation[T]

	Write  Write[T]
	Delete Delete[T]
	Select Select[T]
	// Columns of the table; nil means Name and Created At. Show is what else there is to rows.
	Columns []Column
	Show    Show[T]

	// Status, where set, adds the subresource "status".
	Status *Subresource[T]
	// Subresources are further ways to update the object ("finalize", "approval", "ephemeralcontainers"), by name.
	Subresources map[string]*Subresource[T]
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
	Plural     string // "deployments"; "" means that of the hub's kind
	Singular   string // "deployment"; "" means the hub's kind in lower case
	ShortNames []string
	Categories []string
}

// Write is what creations and updates of the main resource may change and must satisfy.
type Write[T Object] struct {
	// Default completes an object that a client sent, in the hub version.
	Default func(T)

	// ValidateName validates metadata.name (or the generateName prefix, with prefix true) and returns what is wrong, in
	// the wording of k8s.io/apimachinery/pkg/api/validation. nil means DNS subdomain.
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

	// Prepare resets what else a client may not write, and sets what the server decides. old is nil at creation. In
	// updates the preserved fields are those of old, and the generation is counted afterwards.
	Prepare func(ctx context.Context, obj, old T)
	// DropDisabledLast drops the fields of disabled features after Prepare rather than before, in updates: what is
	// dropped counts as a change of the object (ResourceSlices).
	DropDisabledLast bool
	// Validate validates a new object (old is nil) or a change. Metadata is validated by Store beforehand. Whole makes
	// it of a function that validates objects of both alike.
	Validate func(ctx context.Context, obj, old T) field.ErrorList
	// Immutable are the fields that an update may not change, as names in JSON joined with dots. Their errors come
	// after those of Validate. Those about Fixed do not show the value, as where markers of the Go type declare the
	// field immutable.
	Immutable, Fixed []string
	// Warnings for the client, on create (old is nil) and update.
	Warnings func(ctx context.Context, obj, old T) []string

	// Begin runs before Validate, of which old is. It reserves what the object needs outside itself (a cluster
	// IP), or authorizes the write. Its error comes before all errors of validation. finish is called with true after
	// the write succeeded, and with false after it failed, to release the reservation. It is not called if storage did
	// not respond: the object may exist. With dryRun nothing durable is reserved.
	Begin func(ctx context.Context, obj, old T, dryRun bool) (finish func(ctx context.Context, ok bool), err error)

	// AllowCreateOnUpdate lets PUT create.
	AllowCreateOnUpdate bool
	// AllowUnconditionalUpdate reports whether PUT without resourceVersion overwrites in a version; nil means in none.
	AllowUnconditionalUpdate func(version string) bool

	// Resets are fields that managed fields drop beside the preserved ones. ResetFields, where set, are all of
	// them by version; see rest.Resource.
	Resets      []string
	ResetFields rest.ResetFields
}

// Always is AllowUnconditionalUpdate of a kind that lets PUT overwrite in all versions.
func Always(string) bool { return true }

// Select is what field selectors may name beside metadata.name and metadata.namespace.
type Select[T Object] struct {
	Fields []SelectableField[T]
	// Labels, where set, are all labels that field selectors may name beside those of the metadata, with the Path of
	// the field that each means: for a kind whose served version names its fields in another way than the hub.
	Labels map[string]string
	// AnyNamespace says that selectors may not name metadata.namespace, though the kind has namespaces.
	AnyNamespace bool
	// Unknown is how other labels are refused, with %q for the label; "" is how most kinds do it. The group and
	// version of the hub in it stand for those of the request.
	Unknown string
	// Index is a selectable field that many single-valued watches use
	// (spec.nodeName of pods): the cache wakes only the watchers it concerns.
	Index string
}

// SelectableField is a field that field selectors may name.
type SelectableField[T Object] struct {
	Path string // "spec.nodeName"
	// Get returns the value; nil means that of the field of Reads, or of Path, as text.
	Get func(T) string
	// Reads are the fields that Get looks at, as names in JSON joined with dots; nil
	// means Path. Get may see an object that has no others.
	Reads []string
}

// Fields are selectable fields with the values of the fields of the same paths.
func Fields[T Object](paths ...string) []SelectableField[T] {
	fields := make([]SelectableField[T], len(paths))
	for i, path := range paths {
		fields[i].Path = path
	}
	return fields
}

// Subresource declares a subresource that reads and updates the whole object under separate rules.
type Subresource[T Object] struct {
	// Preserves are the fields that the subresource does not write, as names in JSON joined with dots. "status"
	// preserves the spec, whatever it says here.
	Preserves []string
	// Metadata is the part of the metadata that it does not write.
	Metadata PreservedMetadata
	// CountsGeneration is as that of Write.
	CountsGeneration bool
	// Prepare resets what else the subresource may not change.
	Prepare func(ctx context.Context, obj, old T)
	// Begin is as that of Write.
	Begin func(ctx context.Context, obj, old T, dryRun bool) (finish func(ctx context.Context, ok bool), err error)
	// Validate validates the change; metadata is validated beforehand.
	Validate func(ctx context.Context, obj, old T) field.ErrorList
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

// Named returns a copy of the declaration with the names that it leaves open. The scheme has the hub of the Go type.
// The hub's kind makes the plural and singular of the resource, and names its other versions.
func (k *Kind[T]) Named(scheme *runtime.Scheme) *Kind[T] {
	c := *k
	if t := reflect.TypeFor[T](); c.Hub.Empty() && t.Kind() == reflect.Pointer {
		if hubs, _, err := scheme.ObjectKinds(newOf[T]()); err == nil && len(hubs) == 1 {
			c.Hub = hubs[0]
		}
	}
	resources, resource := meta.UnsafeGuessKindToResource(c.Hub)
	c.Names.Plural = cmp.Or(c.Names.Plural, resources.Resource)
	c.Names.Singular = cmp.Or(c.Names.Singular, resource.Resource)
	if t, ok := c.Representation.(Typed[T]); ok {
		t.Versions, t.Former = named(t.Versions, c.Hub), named(t.Former, c.Hub)
		if !t.StorageVersion.Empty() {
			t.StorageVersion = nameOf(t.StorageVersion, c.Hub)
		}
		c.Representation = t
	}
	return &c
}

// Complete returns a copy of the declaration with the constructors and names that it leaves open. The list is of the
// scheme; there is none where the scheme does not have it. It fails where T lacks a field that the declaration names.
func (k *Kind[T]) Complete(scheme *runtime.Scheme) (*Kind[T], error) {
	c := *k.Named(scheme)
	if c.Hub.Empty() {
		return nil, fmt.Errorf("registry: the scheme does not have one kind of the Go type %s", reflect.TypeFor[T]())
	}
	if c.New == nil && reflect.TypeFor[T]().Kind() != reflect.Pointer {
		return nil, fmt.Errorf("registry: kind %s needs New", c.Hub)
	}
	if c.New == nil {
		c.New = newOf[T]
	}
	if list := c.Hub.GroupVersion().WithKind(c.Hub.Kind + "List"); c.NewList == nil && scheme.Recognizes(list) {
		c.NewList = func() runtime.Object {
			obj, err := scheme.New(list)
			runtimeutil.Must(err) // the scheme recognizes it
			return obj
		}
	}
	if err := c.completeColumns(); err != nil {
		return nil, err
	}
	return &c, c.plans()
}
