package group

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"triplane/generic/registry/rest"
)

// Review is embedded by resources that answer a question and store nothing.
type Review struct{}

// ShortNames implements rest.NameProvider.
func (Review) ShortNames() []string { return nil }

// Categories implements rest.NameProvider.
func (Review) Categories() []string { return nil }

// ClusterReview is a Review without a namespace.
type ClusterReview struct{ Review }

// NamespaceScoped implements rest.Scoper.
func (ClusterReview) NamespaceScoped() bool { return false }

// NamespacedReview is a Review in a namespace.
type NamespacedReview struct{ Review }

// NamespaceScoped implements rest.Scoper.
func (NamespacedReview) NamespaceScoped() bool { return true }

// Admit asks validating admission about an object that is answered or acted on but
// not stored. The plugins see a copy; a nil validate admits everything.
func Admit(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc) error {
	if validate == nil {
		return nil
	}
	return validate(ctx, obj.DeepCopyObject())
}
