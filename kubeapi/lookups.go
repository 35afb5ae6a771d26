package kubeapi

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	restclient "k8s.io/client-go/rest"

	"triplane.dev/generic/guard/authentication/serviceaccount"
	"triplane.dev/kubeapi/group"
)

// Lookups reads the objects by which authenticators validate tokens. It implements serviceaccount.Getter with the
// watch cache.
type Lookups struct {
	stores *group.Stores
	client func() (corev1client.SecretsGetter, error)
}

// NewLookups returns Lookups that read from stores and write with a loopback client, which is created on first
// use.
func NewLookups(stores *group.Stores, loopback *restclient.Config) Lookups {
	return Lookups{stores, sync.OnceValues(func() (corev1client.SecretsGetter, error) {
		return corev1client.NewForConfig(loopback)
	})}
}

// RecordTokenUse implements authoptions.Lookups.
func (l Lookups) RecordTokenUse(ctx context.Context, namespace, name, day string) error {
	client, err := l.client()
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, serviceaccount.LastUsedLabel, day)
	_, err = client.Secrets(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// GetServiceAccount implements serviceaccount.Getter.
func (l Lookups) GetServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return group.ServiceAccounts(l.stores).Get(ctx, namespace, name)
}

// GetPod implements serviceaccount.Getter.
func (l Lookups) GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return group.Pods(l.stores).Get(ctx, namespace, name)
}

// GetSecret implements serviceaccount.Getter. It reads only the cache, because any client can send tokens with names
// of Secrets.
func (l Lookups) GetSecret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return group.Secrets(l.stores).GetCached(ctx, namespace, name)
}

// GetNode implements serviceaccount.Getter.
func (l Lookups) GetNode(ctx context.Context, name string) (*corev1.Node, error) {
	return group.Nodes(l.stores).Get(ctx, "", name)
}
