package app

import (
	"context"
	"errors"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"triplane/generic/authentication/serviceaccount"
)

// lookups lets authenticators, which are made before the servers, read objects
// of the core server, which is made of authenticators.
type lookups struct {
	core atomic.Pointer[serviceaccount.Getter]
}

var errNoLookup = errors.New("objects cannot be looked up yet")

func (l *lookups) set(g serviceaccount.Getter) { l.core.Store(&g) }

// GetServiceAccount implements serviceaccount.Getter.
func (l *lookups) GetServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	if g := l.core.Load(); g != nil {
		return (*g).GetServiceAccount(ctx, namespace, name)
	}
	return nil, errNoLookup
}

// GetPod implements serviceaccount.Getter.
func (l *lookups) GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	if g := l.core.Load(); g != nil {
		return (*g).GetPod(ctx, namespace, name)
	}
	return nil, errNoLookup
}

// GetSecret implements serviceaccount.Getter.
func (l *lookups) GetSecret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	if g := l.core.Load(); g != nil {
		return (*g).GetSecret(ctx, namespace, name)
	}
	return nil, errNoLookup
}

// GetNode implements serviceaccount.Getter.
func (l *lookups) GetNode(ctx context.Context, name string) (*corev1.Node, error) {
	if g := l.core.Load(); g != nil {
		return (*g).GetNode(ctx, name)
	}
	return nil, errNoLookup
}
