package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"triplane.dev/generic/base/user"
)

// Operation is what a request does to the object.
type Operation string

// Operations, with their names in the API of webhooks and policies.
const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT"
)

// Attributes describes one operation on one object. Object and OldObject have the hub version. Object is nil
// for Delete; OldObject is nil for Create and Connect. Only mutating plugins may change Object.
type Attributes struct {
	Operation   Operation
	Kind        schema.GroupVersionKind     // as requested
	Resource    schema.GroupVersionResource // as requested
	Subresource string
	Namespace   string
	Name        string
	Object      runtime.Object
	OldObject   runtime.Object
	Options     runtime.Object // *metav1.CreateOptions and so on
	DryRun      bool
	User        *user.Info

	// Codec converts objects of the requested version, Versions those of the other served versions. Both are
	// nil if the object cannot be converted.
	Codec    Converter
	Versions Versions
	// Types returns the schema that server-side apply merges objects by. The function and its result may be
	// nil.
	Types func() (managedfields.TypeConverter, error)

	// rounds is shared by the mutating plugins of a request.
	rounds rounds
}

// Converter converts objects between the hub version and one other version.
type Converter interface {
	Kind() schema.GroupVersionKind
	New() runtime.Object
	Default(obj runtime.Object)
	ToHub(obj runtime.Object) (runtime.Object, error)
	FromHub(obj runtime.Object) (runtime.Object, error)
}

// Versions are the group versions in which a resource is served.
type Versions interface {
	Served() []schema.GroupVersion
	Converter(gv schema.GroupVersion) (Converter, error)
}

// rounds is the state of the reinvocation: whether a plugin requested it, whether it runs, and the values of
// Remember.
type rounds struct {
	requested bool
	running   bool
	memory    map[any]any
}

// Reinvoke requests a second round of the mutating plugins. There is never a third.
func (a *Attributes) Reinvoke() { a.rounds.requested = true }

// Reinvocation reports whether this is the second round.
func (a *Attributes) Reinvocation() bool { return a.rounds.running }

// Remember stores a value of a plugin for the second round. Recall returns it.
func (a *Attributes) Remember(key, value any) {
	if a.rounds.memory == nil {
		a.rounds.memory = map[any]any{}
	}
	a.rounds.memory[key] = value
}

// Recall returns the value that Remember stored under key, or nil.
func (a *Attributes) Recall(key any) any { return a.rounds.memory[key] }

// Interface is an admission plugin. It denies a request with an API status error.
type Interface interface {
	// Handles reports whether to call the plugin for an operation.
	Handles(op Operation) bool
}

// MutatingInterface changes objects.
type MutatingInterface interface {
	Interface
	Admit(ctx context.Context, a *Attributes) error
}

// ValidatingInterface validates objects and does not change them.
type ValidatingInterface interface {
	Interface
	Validate(ctx context.Context, a *Attributes) error
}
