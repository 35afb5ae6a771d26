package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	restclient "k8s.io/client-go/rest"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/group"
)

// namespaceAutoProvision creates the missing namespace of a new object. It does so with the server's permissions.
//
// Options: --enable-admission-plugins; it is off by default. Metrics: none. Order: before NamespaceLifecycle,
// which rejects objects without a namespace.
type namespaceAutoProvision struct {
	operations
	stores   *group.Stores
	loopback *restclient.Config
}

func newNamespaceAutoProvision(d *Dependencies) admission.Interface {
	return &namespaceAutoProvision{operations{admission.Create}, d.Stores, d.Loopback}
}

// Admit implements admission.MutatingInterface.
func (p *namespaceAutoProvision) Admit(ctx context.Context, a *admission.Attributes) error {
	if a.DryRun || a.Namespace == "" || a.Resource.GroupResource() == core("namespaces") {
		return nil
	}
	_, err := group.Namespaces(p.stores).Get(ctx, "", a.Namespace)
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return apierrors.NewInternalError(err)
	}
	client, err := corev1client.NewForConfig(p.loopback)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.Namespace}}
	_, err = client.Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsForbidden(err):
		return err
	}
	return admission.Forbidden(a, err)
}
