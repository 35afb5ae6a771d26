package serviceaccount

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const (
	workers     = 5
	accountName = "default"
)

type controller struct {
	env    *control.Env
	client corev1client.ServiceAccountsGetter
}

// New returns the controller.
func New(e *control.Env) (worker.Runner, error) {
	client, err := corev1client.NewForConfig(e.As("service-account-controller"))
	if err != nil {
		return nil, err
	}
	c := &controller{env: e, client: client}
	queue := control.NewQueue(e, "serviceaccount", workers, c.sync)
	e.Feed.On(group.Namespaces(e.Stores).Resource(), func(o *control.Object) {
		if !o.Deleted() {
			queue.Add(o.Name)
		}
	})
	e.Feed.On(group.ServiceAccounts(e.Stores).Resource(), func(o *control.Object) {
		if o.Deleted() && o.Name == accountName {
			queue.Add(o.Namespace)
		}
	})
	return queue, nil
}

// Default returns the default service account of a namespace.
func Default(namespace string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: accountName, Namespace: namespace}}
}

// sync creates the default service account of a namespace.
func (c *controller) sync(ctx context.Context, namespace string) error {
	ns, err := group.Namespaces(c.env.Stores).GetCached(control.Reading(ctx), "", namespace)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || ns.Status.Phase != corev1.NamespaceActive {
		return err
	}
	_, err = group.ServiceAccounts(c.env.Stores).GetCached(control.Reading(ctx), namespace, accountName)
	if !apierrors.IsNotFound(err) {
		return err
	}
	_, err = c.client.ServiceAccounts(namespace).Create(ctx, Default(namespace), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}
