package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	restclient "k8s.io/client-go/rest"

	"triplane.dev/generic/api/informers"
	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/api/show"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/serve/apigroups"
	"triplane.dev/generic/storage/object"
)

// These are the types of package kind that declare kinds; see there for details.
type (
	// Object is a pointer to a kind's Go type.
	Object = kind.Object
	// Kind declares a kind in one place.
	Kind[T Object] = kind.Kind[T]
	// Names are the names of a resource in discovery.
	Names = kind.Names
	// Write configures defaults, validation, and what writes may change.
	Write[T Object] = kind.Write[T]
	// Delete configures the deletion of objects.
	Delete[T Object] = kind.Delete[T]
	// Show configures kubectl's table.
	Show[T Object] = kind.Show[T]
	// Column is a column of the table.
	Column = kind.Column
	// Select configures field selectors.
	Select[T Object] = kind.Select[T]
	// SelectableField is a field of field selectors.
	SelectableField[T Object] = kind.SelectableField[T]
	// Typed lists the versions of a kind and its storage version.
	Typed[T Object] = kind.Typed[T]
	// Version is a version with its conversions.
	Version[T Object] = kind.Version[T]
	// Subresource is an additional way to update an object.
	Subresource[T Object] = kind.Subresource[T]
	// PreservedMetadata is the part of the metadata that a subresource does not write.
	PreservedMetadata = kind.PreservedMetadata
	// ScaleSubresource configures the subresource scale (autoscaling/v1 Scale).
	ScaleSubresource[T Object] = kind.ScaleSubresource[T]
	// Scale has the values of the subresource scale.
	Scale = kind.Scale
	// List is the list type of a kind with the Go type T.
	List[T any] = kind.ListOf[T]
	// Group is an API group, which is served at /apis/NAME.
	Group = apigroups.Group
	// Resource is a resource of a Group. Create it with NewResource or NewStorage.
	Resource = apigroups.Resource
	// Informer watches and caches the objects of a kind with the Go type V.
	Informer[V any] = informers.Typed[V]
	// AdmissionPlugin is an admission plugin of the server.
	AdmissionPlugin = admission.Plugin
)

// ClientMetadata is what clients write of the metadata: labels, annotations, owner references and finalizers.
const ClientMetadata = kind.ClientMetadata

// VersionOf returns a version of the hub's kind with the Go type V, with its conversions to and from the hub.
func VersionOf[T Object, V any, P interface {
	*V
	runtime.Object
}](gv schema.GroupVersion, toHub func(P) (T, error), fromHub func(T) (P, error)) Version[T] {
	return kind.VersionOf(gv, toHub, fromHub)
}

// NewResource serves and stores the objects of a kind. Unset fields of the declaration have the defaults of most
// kinds: the group, a singular name, constructors of the Go type and its List, and keys below GROUP/PLURAL.
func NewResource[V any, T interface {
	*V
	Object
}](kind Kind[T]) Resource {
	return apigroups.NewResource[V](kind)
}

// NewStorage serves a resource with the program's own functions in a version of the group, for example a computed
// resource. It needs New and Kind, and a function for each of its verbs. Its objects have only this version.
func NewStorage(version, name string, resource rest.Resource) Resource {
	return apigroups.NewStorage(version, name, resource)
}

// DefaultOf returns the defaulting function of a Version from one that takes its Go type.
func DefaultOf[P runtime.Object](fill func(P)) func(runtime.Object) { return kind.DefaultOf(fill) }

// Whole returns the validation of a kind whose rules are for new and changed objects alike.
func Whole[T Object](rules func(T) field.ErrorList) func(ctx context.Context, obj, old T) field.ErrorList {
	return kind.Whole(rules)
}

// NameColumn returns the column of names, usually the first.
func NameColumn() Column { return show.Name() }

// AgeColumn returns the column of ages, usually the last.
func AgeColumn() Column { return show.Age() }

// NewInformer returns an informer of a resource. config is Running.ClientConfig, HookContext.LoopbackClientConfig,
// or Needs.Loopback of an admission plugin. RunWithContext starts it.
func NewInformer[V any](config *restclient.Config, resource schema.GroupVersionResource) (*Informer[V], error) {
	return informers.NewTyped[V](config, resource)
}

// DeepCopy returns a deep copy of an object whose type has no generated method:
//
//	func (t *Tree) DeepCopyObject() runtime.Object { return apiserver.DeepCopy(t) }
func DeepCopy[T any](in *T) *T { return object.DeepCopy(in) }
