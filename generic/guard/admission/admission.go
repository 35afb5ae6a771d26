package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"triplane/generic/base/user"
)

// Operation is what is done to the object.
type Operation string

// The operations, as webhooks and policies name them.
const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT"
)

// Attributes is one operation. Object is in the hub version and
// may be changed by mutating plugins; it is nil for Delete. OldObject is nil
// for Create and Connect.
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

	// Codec converts objects of the requested version, Versions those of the
	// others that the resource is served in. Both are nil where nobody can.
	Codec    Converter
	Versions Versions
	// Types knows the structure of the objects, for merging; nil, or a nil
	// result, where nobody does.
	Types func() (managedfields.TypeConverter, error)

	// rounds is shared by the mutating plugins of a request.
	rounds rounds
}

// Converter brings objects from the hub version to another one, and back.
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

// rounds is whether mutating plugins are to run once more, because one
// changed what another had seen already.
type rounds struct {
	again   bool
	running bool
	memory  map[any]any
}

// Reinvoke asks for a second round of the mutating plugins. There is one at
// most.
func (a *Attributes) Reinvoke() { a.rounds.again = true }

// Reinvocation reports whether this is the second round.
func (a *Attributes) Reinvocation() bool { return a.rounds.running }

// Remember keeps what a plugin wants to know in the second round, under a key of
// its own; Recall returns it, or nil.
func (a *Attributes) Remember(key, value any) {
	if a.rounds.memory == nil {
		a.rounds.memory = map[any]any{}
	}
	a.rounds.memory[key] = value
}

// Recall returns what Remember was given.
func (a *Attributes) Recall(key any) any { return a.rounds.memory[key] }

// Interface is an admission plugin. A refusal is an
// API status error.
type Interface interface {
	// Handles reports whether the plugin has to see an operation at all.
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
