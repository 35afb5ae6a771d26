package expression

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/guard/admission"
)

// Inputs provides the inputs of all expressions for one operation. Webhooks and policies share it, so that the
// namespace and the Values of each version are computed once. It is not safe for concurrent use.
type Inputs struct {
	Attributes *admission.Attributes

	ctx        context.Context //nolint:containedctx // of the request
	authorizer authorizer.Authorizer
	namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)

	namespaceRead bool
	namespace     *corev1.Namespace
	err           error
	values        map[schema.GroupVersion]*Values
}

// NewInputs returns the Inputs of an operation.
func NewInputs(ctx context.Context, a *admission.Attributes, authz authorizer.Authorizer,
	namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)) *Inputs {
	return &Inputs{Attributes: a, ctx: ctx, authorizer: authz, namespaces: namespaces}
}

// Namespace returns the operation's namespace, or nil if it has none.
func (j *Inputs) Namespace() (*corev1.Namespace, error) {
	a := j.Attributes
	if a.Namespace == "" || a.Resource.Group == "" && a.Resource.Resource == "namespaces" {
		return nil, nil
	}
	return j.Find(j.ctx, a.Namespace)
}

// Find implements match.Namespaces. It reads the operation's own namespace only once.
func (j *Inputs) Find(ctx context.Context, name string) (*corev1.Namespace, error) {
	if name != j.Attributes.Namespace {
		return j.namespaces(ctx, name)
	}
	if !j.namespaceRead {
		j.namespaceRead = true
		j.namespace, j.err = j.namespaces(ctx, name)
	}
	return j.namespace, j.err
}

// Values returns the inputs with the object converted to a group version.
func (j *Inputs) Values(gv schema.GroupVersion) (*Values, error) {
	if v, ok := j.values[gv]; ok {
		return v, nil
	}
	v, err := NewValues(j.ctx, j.Attributes, gv, j.authorizer, j.Namespace)
	if err != nil {
		return nil, err
	}
	if j.values == nil {
		j.values = map[schema.GroupVersion]*Values{}
	}
	j.values[gv] = v
	return v, nil
}

// Changed discards the values after the object has changed.
func (j *Inputs) Changed() { j.values = nil }
