package expression

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/base/authorizer"
	"triplane/generic/guard/admission"
)

// Judgement is one operation under judgement by any number of webhooks or
// policies: what they all need is found once. Not safe for concurrent use.
type Judgement struct {
	Attributes *admission.Attributes

	ctx        context.Context //nolint:containedctx // of the request
	authorizer authorizer.Authorizer
	namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)

	asked     bool
	namespace *corev1.Namespace
	err       error
	values    map[schema.GroupVersion]*Values
}

// NewJudgement begins one.
func NewJudgement(ctx context.Context, a *admission.Attributes, authz authorizer.Authorizer,
	namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)) *Judgement {
	return &Judgement{Attributes: a, ctx: ctx, authorizer: authz, namespaces: namespaces}
}

// Namespace finds the operation's namespace, nil where it has none.
func (j *Judgement) Namespace() (*corev1.Namespace, error) {
	a := j.Attributes
	if a.Namespace == "" || a.Resource.Group == "" && a.Resource.Resource == "namespaces" {
		return nil, nil
	}
	return j.Find(j.ctx, a.Namespace)
}

// Find implements match.Namespaces: the operation's own namespace is read once.
func (j *Judgement) Find(ctx context.Context, name string) (*corev1.Namespace, error) {
	if name != j.Attributes.Namespace {
		return j.namespaces(ctx, name)
	}
	if !j.asked {
		j.asked = true
		j.namespace, j.err = j.namespaces(ctx, name)
	}
	return j.namespace, j.err
}

// Values are those of the operation, shown in a group version.
func (j *Judgement) Values(gv schema.GroupVersion) (*Values, error) {
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

// Changed reports that the object is another one now.
func (j *Judgement) Changed() { j.values = nil }
