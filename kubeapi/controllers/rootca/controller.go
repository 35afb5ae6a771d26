package rootca

import (
	"context"
	"maps"

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
	mapName     = "kube-root-ca.crt"
	caKey       = "ca.crt"
	description = "kubernetes.io/description"
	what        = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints " +
		"such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across " +
		"distributions of Kubernetes clusters."
)

type controller struct {
	env    *control.Env
	client corev1client.ConfigMapsGetter
	data   map[string]string
}

// New returns the controller. ca is the CA in PEM.
func New(e *control.Env, ca []byte) (worker.Runner, error) {
	client, err := corev1client.NewForConfig(e.As("root-ca-cert-publisher"))
	if err != nil {
		return nil, err
	}
	c := &controller{env: e, client: client, data: map[string]string{caKey: string(ca)}}
	queue := control.NewQueue(e, "root_ca_cert_publisher", workers, c.sync)
	e.Feed.On(group.Namespaces(e.Stores).Resource(), func(o *control.Object) {
		if !o.Deleted() {
			queue.Add(o.Name)
		}
	})
	e.Feed.On(group.ConfigMaps(e.Stores).Resource(), func(o *control.Object) {
		if o.Name == mapName {
			queue.Add(o.Namespace)
		}
	})
	return queue, nil
}

// ConfigMap returns the config map of a namespace, as the controller creates it. ca is the CA in PEM.
func ConfigMap(namespace string, ca []byte) *corev1.ConfigMap {
	m := configMap(namespace, map[string]string{caKey: string(ca)})
	m.ManagedFields = []metav1.ManagedFieldsEntry{control.Written("v1", `{"f:data":{".":{},"f:ca.crt":{}},`+
		`"f:metadata":{"f:annotations":{".":{},"f:kubernetes.io/description":{}}}}`)}
	return m
}

func configMap(namespace string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: mapName, Namespace: namespace,
			Annotations: map[string]string{description: what}},
		Data: data,
	}
}

// sync creates or repairs the config map of a namespace.
func (c *controller) sync(ctx context.Context, namespace string) error {
	ns, err := group.Namespaces(c.env.Stores).GetCached(control.Reading(ctx), "", namespace)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || ns.Status.Phase != corev1.NamespaceActive {
		return err
	}
	have, err := group.ConfigMaps(c.env.Stores).GetCached(control.Reading(ctx), namespace, mapName)
	if apierrors.IsNotFound(err) {
		_, err = c.client.ConfigMaps(namespace).Create(ctx, configMap(namespace, c.data), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return nil
		}
		return err
	}
	if err != nil || maps.Equal(have.Data, c.data) && have.Annotations[description] != "" {
		return err
	}
	have.Data, have.BinaryData = c.data, nil
	metav1.SetMetaDataAnnotation(&have.ObjectMeta, description, what)
	_, err = c.client.ConfigMaps(namespace).Update(ctx, have, metav1.UpdateOptions{})
	return err
}
