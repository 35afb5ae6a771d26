package triplane

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	restclient "k8s.io/client-go/rest"

	"triplane/generic/guard/authentication/serviceaccount"
	"triplane/kubeapi/group"
)

// lookups reads the objects that authenticators validate tokens by. It implements
// serviceaccount.Getter from the watch cache.
type lookups struct {
	stores *group.Stores
	client func() (corev1client.SecretsGetter, error)
}

// newLookups reads from stores and writes with a client of the loopback
// configuration, which is made when it is first needed.
func newLookups(stores *group.Stores, loopback *restclient.Config) lookups {
	return lookups{stores, sync.OnceValues(func() (corev1client.SecretsGetter, error) {
		return corev1client.NewForConfig(loopback)
	})}
}

// RecordTokenUse implements options.Lookups.
func (l lookups) RecordTokenUse(ctx context.Context, namespace, name, day string) error {
	client, err := l.client()
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, serviceaccount.LastUsedLabel, day)
	_, err = client.Secrets(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// GetServiceAccount implements serviceaccount.Getter.
func (l lookups) GetServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return group.GetNew[*corev1.ServiceAccount](ctx, l.stores, corev1.Resource("serviceaccounts"), namespace, name)
}

// GetPod implements serviceaccount.Getter.
func (l lookups) GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return group.GetNew[*corev1.Pod](ctx, l.stores, corev1.Resource("pods"), namespace, name)
}

// GetSecret implements serviceaccount.Getter. It asks the cache alone, as anybody
// can make up the name of a secret.
func (l lookups) GetSecret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return group.Get[*corev1.Secret](ctx, l.stores, corev1.Resource("secrets"), namespace, name, group.Cached)
}

// GetNode implements serviceaccount.Getter.
func (l lookups) GetNode(ctx context.Context, name string) (*corev1.Node, error) {
	return group.GetNew[*corev1.Node](ctx, l.stores, corev1.Resource("nodes"), "", name)
}
