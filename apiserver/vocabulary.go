package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/api/registry"
	"triplane/generic/guard/admission"
	"triplane/generic/storage/object"
)

// The vocabulary in which kinds are declared is that of package registry, which says more.
type (
	// Object is a pointer to a kind's Go type.
	Object = registry.Object
	// Kind declares a kind in one place.
	Kind[T Object] = registry.Kind[T]
	// Names are what discovery calls a resource.
	Names = registry.Names
	// Write is defaults, validation, and what a write may change.
	Write[T Object] = registry.Write[T]
	// Delete is what the deletion of an object means.
	Delete[T Object] = registry.Delete[T]
	// Show is the table that kubectl prints.
	Show[T Object] = registry.Show[T]
	// Column is a column of it.
	Column = registry.Column
	// Select is what field selectors may name.
	Select[T Object] = registry.Select[T]
	// SelectableField is a field that they may name.
	SelectableField[T Object] = registry.SelectableField[T]
	// Typed is in which versions a kind travels and is stored.
	Typed[T Object] = registry.Typed[T]
	// Version is one of them, with its conversions.
	Version[T Object] = registry.Version[T]
	// Subresource is a further way to update an object.
	Subresource[T Object] = registry.UpdateSubresource[T]
	// ScaleSubresource is how autoscaling/v1 Scale reads and writes a kind.
	ScaleSubresource[T Object] = registry.ScaleSubresource[T]
	// Scale is what it reads.
	Scale = registry.Scale
	// List is the list of a kind's objects, of the Go type T.
	List[T any] = registry.ListOf[T]
	// AdmissionPlugin is a plugin of the server's own.
	AdmissionPlugin = admission.Plugin
)

// VersionOf is a version of a kind whose Go type is V, with its conversions to and from the hub.
func VersionOf[T Object, V any, P interface {
	*V
	runtime.Object
}](kind schema.GroupVersionKind, toHub func(P) (T, error), fromHub func(T) (P, error)) Version[T] {
	return registry.VersionOf(kind, toHub, fromHub)
}

// DefaultOf makes the defaults of a Version of a function that takes its Go type.
func DefaultOf[P runtime.Object](fill func(P)) func(runtime.Object) { return registry.DefaultOf(fill) }

// NameColumn and AgeColumn are the first and the last column of most tables.
func NameColumn() Column { return registry.NameColumn() }

// AgeColumn is the column of the time since an object was created.
func AgeColumn() Column { return registry.AgeColumn() }

// DeepCopy copies an object of a type that has no generated method for that:
//
//	func (t *Tree) DeepCopyObject() runtime.Object { return apiserver.DeepCopy(t) }
func DeepCopy[T any](in *T) *T { return object.DeepCopy(in) }
