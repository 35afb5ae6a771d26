package app

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"triplane/kubeapi/group"
)

// lookups reads the objects that authenticators validate tokens by. It implements
// serviceaccount.Getter from the watch cache.
type lookups struct{ stores *group.Stores }

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
