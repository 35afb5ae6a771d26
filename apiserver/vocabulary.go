package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/storage/object"
)

// These are the types of package registry that declare kinds; see there for details.
type (
	// Object is a pointer to a kind's Go type.
	Object = registry.Object
	// Kind declares a kind in one place.
	Kind[T Object] = registry.Kind[T]
	// Names are the names of a resource in discovery.
	Names = registry.Names
	// Write configures defaults, validation, and what writes may change.
	Write[T Object] = registry.Write[T]
	// Delete configures the deletion of objects.
	Delete[T Object] = registry.Delete[T]
	// Show configures kubectl's table.
	Show[T Object] = registry.Show[T]
	// Column is a column of the table.
	Column = registry.Column
	// Select configures field selectors.
	Select[T Object] = registry.Select[T]
	// SelectableField is a field of field selectors.
	SelectableField[T Object] = registry.SelectableField[T]
	// Typed lists the versions of a kind and its storage version.
	Typed[T Object] = registry.Typed[T]
	// Version is a version with its conversions.
	Version[T Object] = registry.Version[T]
	// Subresource is an additional way to update an object.
	Subresource[T Object] = registry.UpdateSubresource[T]
	// PreservedMetadata is the part of the metadata that a subresource does not write.
	PreservedMetadata = registry.PreservedMetadata
	// ScaleSubresource configures the subresource scale (autoscaling/v1 Scale).
	ScaleSubresource[T Object] = registry.ScaleSubresource[T]
	// Scale has the values of the subresource scale.
	Scale = registry.Scale
	// List is the list type of a kind with the Go type T.
	List[T any] = registry.ListOf[T]
	// AdmissionPlugin is an admission plugin of the server.
	AdmissionPlugin = admission.Plugin
)

// ClientMetadata is what clients write of the metadata: labels, annotations, owner references and finalizers.
const ClientMetadata = registry.ClientMetadata

// VersionOf returns a version with the Go type V, with its conversions to and from the hub.
func VersionOf[T Object, V any, P interface {
	*V
	runtime.Object
}](kind schema.GroupVersionKind, toHub func(P) (T, error), fromHub func(T) (P, error)) Version[T] {
	return registry.VersionOf(kind, toHub, fromHub)
}

// DefaultOf returns the defaulting function of a Version from one that takes its Go type.
func DefaultOf[P runtime.Object](fill func(P)) func(runtime.Object) { return registry.DefaultOf(fill) }

// NameColumn returns the column of names, usually the first.
func NameColumn() Column { return registry.NameColumn() }

// AgeColumn returns the column of ages, usually the last.
func AgeColumn() Column { return registry.AgeColumn() }

// DeepCopy returns a deep copy of an object whose type has no generated method:
//
//	func (t *Tree) DeepCopyObject() runtime.Object { return apiserver.DeepCopy(t) }
func DeepCopy[T any](in *T) *T { return object.DeepCopy(in) }
