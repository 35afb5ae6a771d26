package lifecycle

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/guard/admission"
)

// Plugin denies the creation of objects, built-in and custom, in namespaces that do not exist or are
// terminating. It also denies the deletion of the namespaces default, kube-system and kube-public.
//
// Options: none. Metrics: none. Order: first, so that later plugins do no work for a missing namespace.
type Plugin struct{ namespaces Namespaces }

// Namespaces returns a namespace. Its error is an API status: NotFound only if the namespace certainly does not
// exist.
type Namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)

// New returns the plugin.
func New(namespaces Namespaces) *Plugin { return &Plugin{namespaces} }

// Handles implements admission.Interface. Updates are allowed in any namespace, also in one that has gone.
func (*Plugin) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Delete
}

// protected reports whether a namespace cannot be deleted.
func protected(name string) bool {
	return name == metav1.NamespaceDefault || name == metav1.NamespaceSystem || name == metav1.NamespacePublic
}

// Admit implements admission.MutatingInterface. It changes nothing; it is a mutating plugin so that it denies
// requests before other plugins change the object.
func (l *Plugin) Admit(ctx context.Context, a *admission.Attributes) error {
	isNamespace := a.Resource.Group == "" && a.Resource.Resource == "namespaces"
	if a.Operation == admission.Delete {
		if isNamespace && a.Subresource == "" && protected(a.Name) {
			return admission.Forbidden(a, errors.New("this namespace may not be deleted"))
		}
		return nil
	}
	if isNamespace || a.Namespace == "" || l.alwaysAllowed(a) {
		return nil
	}
	ns, err := l.namespaces(ctx, a.Namespace)
	if apierrors.IsNotFound(err) {
		return apierrors.NewNotFound(corev1.Resource("namespaces"), a.Namespace)
	}
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if ns.Status.Phase != corev1.NamespaceTerminating && ns.DeletionTimestamp == nil {
		return nil
	}
	return l.terminating(a)
}

// alwaysAllowed reports whether the object is a review, which is never stored.
func (l *Plugin) alwaysAllowed(a *admission.Attributes) bool {
	return a.Resource.Group == "authorization.k8s.io" && a.Resource.Resource == "localsubjectaccessreviews"
}

func (l *Plugin) terminating(a *admission.Attributes) error {
	err := admission.Forbidden(a,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", a.Namespace))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", a.Namespace),
		Field: "metadata.namespace",
	})
	return err
}
