package serviceaccount

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/user"
)

// deletionGrace is how long a token stays valid after the deletionTimestamp of its bound object. Pods use their
// tokens while they shut down.
const deletionGrace = time.Minute

// Keys of the user's extra information about the token.
const (
	podNameKey = "authentication.kubernetes.io/pod-name"
	podUIDKey  = "authentication.kubernetes.io/pod-uid"
	nodeUIDKey = "authentication.kubernetes.io/node-uid"
)

// checkBound returns an error unless the service account and the bound object of a token exist.
func (a *Authenticator) checkBound(ctx context.Context, b *Bound) error {
	account, err := a.config.Getter.GetServiceAccount(ctx, b.Namespace, b.ServiceAccount.Name)
	if err != nil {
		return err
	}
	if !a.exists(account, b.ServiceAccount.UID) {
		return errInvalidated
	}
	switch {
	case b.Secret != nil:
		secret, err := a.config.Getter.GetSecret(ctx, b.Namespace, b.Secret.Name)
		if err != nil || !a.exists(secret, b.Secret.UID) {
			return errInvalidated
		}
	case b.Pod != nil:
		pod, err := a.config.Getter.GetPod(ctx, b.Namespace, b.Pod.Name)
		if err != nil || !a.exists(pod, b.Pod.UID) {
			return errInvalidated
		}
	case b.Node != nil:
		node, err := a.config.Getter.GetNode(ctx, b.Node.Name)
		if err != nil || !a.exists(node, b.Node.UID) {
			return errInvalidated
		}
	}
	return nil
}

func (a *Authenticator) exists(o metav1.Object, uid string) bool {
	if string(o.GetUID()) != uid {
		return false
	}
	deleted := o.GetDeletionTimestamp()
	return deleted == nil || a.now().Before(deleted.Add(deletionGrace))
}

// CheckUser returns an error unless the service account of a user, and the pod or node that its token was bound
// to, exist. It returns nil for other users.
func CheckUser(ctx context.Context, getter Getter, u *user.Info) error {
	namespace, name, ok := user.ServiceAccount(u.Name)
	if !ok {
		return nil
	}
	b := &Bound{Namespace: namespace, ServiceAccount: Ref{Name: name, UID: u.UID}}
	if u.UID == "" { // some authenticators do not set it
		account, err := getter.GetServiceAccount(ctx, namespace, name)
		if err != nil {
			return err
		}
		b.ServiceAccount.UID = string(account.UID)
	}
	first := func(key string) string {
		if values := u.Extra[key]; len(values) > 0 {
			return values[0]
		}
		return ""
	}
	if pod := first(podNameKey); pod != "" {
		b.Pod = &Ref{Name: pod, UID: first(podUIDKey)}
	} else if node, uid := first(user.NodeNameKey), first(nodeUIDKey); node != "" && uid != "" {
		b.Node = &Ref{Name: node, UID: uid}
	}
	return NewAuthenticator(Config{Getter: getter}).checkBound(ctx, b)
}

func userOf(c *claims) *user.Info {
	b := &c.Kubernetes
	u := &user.Info{
		Name:   user.ServiceAccountName(b.Namespace, b.ServiceAccount.Name),
		UID:    b.ServiceAccount.UID,
		Groups: []string{user.AllServiceAccounts, user.ServiceAccountGroup + b.Namespace},
		Extra:  map[string][]string{},
	}
	if b.Pod != nil {
		u.Extra[podNameKey] = []string{b.Pod.Name}
		u.Extra[podUIDKey] = []string{b.Pod.UID}
	}
	if b.Node != nil {
		u.Extra[user.NodeNameKey] = []string{b.Node.Name}
		if b.Node.UID != "" {
			u.Extra[nodeUIDKey] = []string{b.Node.UID}
		}
	}
	if c.ID != "" {
		u.Extra[user.CredentialIDKey] = []string{"JTI=" + c.ID}
	}
	if len(u.Extra) == 0 {
		u.Extra = nil
	}
	return u
}
