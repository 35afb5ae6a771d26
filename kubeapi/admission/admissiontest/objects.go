package admissiontest

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
)

// Objects is a read-only resource: objects by their names, or by "namespace/name".
type Objects map[string]runtime.Object

// Resource returns the objects as a resource that can get them, and list those of a namespace. Other operations are
// nil.
func (o Objects) Resource() *rest.Resource { return &rest.Resource{Get: o.Get, List: o.list} }

// Get returns a copy of an object, or NotFound.
func (o Objects) Get(ctx context.Context, r rest.GetRequest) (runtime.Object, error) {
	key := r.Name
	if ns := request.NamespaceFrom(ctx); ns != "" {
		key = ns + "/" + r.Name
	}
	if obj, ok := o[key]; ok {
		return obj.DeepCopyObject(), nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, r.Name)
}

func (o Objects) list(ctx context.Context, _ *metainternalversion.ListOptions) (runtime.Object, error) {
	list := &rest.StoredList{}
	for key, obj := range o {
		if ns := request.NamespaceFrom(ctx); ns == "" || strings.HasPrefix(key, ns+"/") {
			list.Items = append(list.Items, decodable{obj: obj})
		}
	}
	return list, nil
}

// decodable is an item of a list.
type decodable struct {
	rest.Stored
	obj runtime.Object
}

func (d decodable) Decode() (runtime.Object, error) { return d.obj.DeepCopyObject(), nil }
func (d decodable) Shared() (runtime.Object, error) { return d.obj, nil }

// Allowed allows what the function returns true for, and has no opinion otherwise.
type Allowed func(a *authorizer.Attributes) bool

// Authorize implements authorizer.Authorizer.
func (f Allowed) Authorize(_ context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	if f(a) {
		return authorizer.Allow, "", nil
	}
	return authorizer.NoOpinion, "", nil
}
