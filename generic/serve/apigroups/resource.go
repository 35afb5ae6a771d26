package apigroups

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/serve/server"
)

// Resource is a resource of a Group. Create it with NewResource or NewStorage.
type Resource struct {
	name string
	// register adds Go types to the scheme; build creates the storage of the resource.
	register func(*groupBuilder) error
	build    func(*groupBuilder) error
}

// NewResource serves and stores the objects of a kind. Unset fields of the declaration have the defaults of most
// kinds: the group, the names, constructors of the Go type and its List, and keys below GROUP/PLURAL.
func NewResource[V any, T interface {
	*V
	kind.Object
}](declared kind.Kind[T]) Resource {
	k := declared.Named(runtime.NewScheme())
	r := Resource{name: k.Names.Plural}
	r.register = func(b *groupBuilder) error {
		if k.New == nil {
			k.New = func() T { return new(V) }
		}
		if k.NewList == nil {
			k.NewList = func() runtime.Object { return &kind.ListOf[V]{} }
		}
		if k.Prefix == "" {
			k.Prefix = b.group.Name + "/" + k.Names.Plural
		}
		return registerKind(b, k)
	}
	r.build = func(b *groupBuilder) error {
		_, err := server.AddKind(b.GroupBuilder, k, b.versions)
		return err
	}
	return r
}

// registerKind adds the Go types of all versions of a kind to the scheme.
func registerKind[T kind.Object](b *groupBuilder, k *kind.Kind[T]) error {
	if k.Hub.Kind == "" {
		return errors.New("Hub.Kind cannot be empty")
	}
	typed, ok := k.Representation.(kind.Typed[T])
	if !ok && k.Representation != nil {
		return fmt.Errorf("its Representation is %T, but kinds with Go types need a Typed", k.Representation)
	}
	if stored := typed.StorageVersion; !stored.Empty() && stored != k.Hub &&
		!slices.ContainsFunc(typed.Versions, func(v kind.Version[T]) bool { return v.Kind == stored }) {
		return fmt.Errorf("its StorageVersion %s is neither Hub nor one of Versions", stored)
	}
	served := b.group.serves(k.Hub.GroupVersion())
	if err := b.register(k.Hub, k.New(), k.NewList()); err != nil {
		return err
	}
	for _, v := range slices.Concat(typed.Versions, typed.Former) {
		obj, list := runtime.Object(k.New()), k.NewList()
		if v.New != nil {
			obj = v.New()
		}
		if v.NewList != nil {
			list = v.NewList()
		}
		if err := b.register(v.Kind, obj, list); err != nil {
			return err
		}
		served = served || b.group.serves(v.Kind.GroupVersion())
	}
	if !served {
		return fmt.Errorf("it is in none of the group's versions %s", strings.Join(b.group.Versions, ", "))
	}
	return nil
}

// NewStorage serves a resource with the program's own functions in a version of the group, for example a computed
// resource. It needs New and Kind, and a function for each of its verbs. Its objects have only this version.
func NewStorage(version, name string, resource rest.Resource) Resource {
	return Resource{name: name,
		register: func(b *groupBuilder) error {
			kinds, _, err := b.scheme.ObjectKinds(resource.New())
			if err == nil && kinds[0].Group == b.group.Name {
				return nil // several resources may have the same kind
			}
			if resource.Kind.Empty() {
				return errors.New("rest.Resource.Kind must be set")
			}
			var list runtime.Object
			if resource.NewList != nil {
				list = resource.NewList()
			}
			return b.register(resource.Kind, resource.New(), list)
		},
		build: func(b *groupBuilder) error {
			if !slices.Contains(b.group.Versions, version) {
				return fmt.Errorf("%q is not one of the group's versions %s", version,
					strings.Join(b.group.Versions, ", "))
			}
			b.Put(version, name, &resource)
			return nil
		},
	}
}

// register adds the Go types of a kind and of its list, which may be nil, to the scheme.
func (b *groupBuilder) register(kind schema.GroupVersionKind, obj, list runtime.Object) error {
	if kind.Group != b.group.Name {
		return fmt.Errorf("kind %s is not of the group", kind)
	}
	if b.scheme.Recognizes(kind) {
		return fmt.Errorf("kind %s is registered twice", kind)
	}
	b.scheme.AddKnownTypeWithName(kind, obj)
	b.samples = append(b.samples, obj)
	if list != nil {
		b.scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), list)
		b.samples = append(b.samples, list)
	}
	return nil
}

// defaultScheme returns a scheme with the types that all groups share.
func defaultScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s, metav1.AddMetaToScheme(s)
}
