package token

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"triplane.dev/generic/guard/authentication/serviceaccount"
	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const workers = 5

// Config is the configuration of the controller.
type Config struct {
	// Issuer signs the tokens of Secrets.
	Issuer *serviceaccount.Issuer
	// RootCA is the CA of the server's certificate in PEM; nil omits it.
	RootCA []byte
}

type controller struct {
	Config
	env       *control.Env
	client    corev1client.CoreV1Interface
	toSecrets *control.Queue[control.Key]
	toAccount *control.Queue[control.Key]
}

// New returns the controller. Like kube-controller-manager's it runs as the manager's user rather than a service
// account, because it issues credentials of all service accounts.
func New(e *control.Env, config Config) (worker.Runner, error) {
	client, err := corev1client.NewForConfig(e.AsUser("system:kube-controller-manager"))
	if err != nil {
		return nil, err
	}
	c := &controller{Config: config, env: e, client: client}
	c.toSecrets = control.NewQueue(e, "serviceaccount_tokens_secret", workers, c.sync)
	c.toAccount = control.NewQueue(e, "serviceaccount_tokens_service", workers, c.removeTokens)
	e.Feed.On(group.Secrets(e.Stores).Resource(), func(o *control.Object) {
		if !o.Deleted() && o.Mentions(string(corev1.SecretTypeServiceAccountToken)) {
			c.toSecrets.Add(control.KeyOf(o))
		}
	})
	e.Feed.On(group.ServiceAccounts(e.Stores).Resource(), func(o *control.Object) {
		if o.Deleted() {
			c.toAccount.Add(control.KeyOf(o))
		}
	})
	return worker.Together{c.toAccount, c.toSecrets}, nil
}

// sync fills a Secret, or deletes it if its account was deleted.
func (c *controller) sync(ctx context.Context, key control.Key) error {
	secret, err := group.Secrets(c.env.Stores).GetCached(control.Reading(ctx), key.Namespace, key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || secret.Type != corev1.SecretTypeServiceAccountToken || secret.DeletionTimestamp != nil {
		return err
	}
	name := secret.Annotations[corev1.ServiceAccountNameKey]
	if name == "" {
		return nil // admission rejects such Secrets
	}
	account, err := c.client.ServiceAccounts(key.Namespace).Get(ctx, name, metav1.GetOptions{})
	uid := secret.Annotations[corev1.ServiceAccountUIDKey]
	if apierrors.IsNotFound(err) || err == nil && uid != "" && uid != string(account.UID) {
		return c.remove(ctx, secret)
	}
	if err != nil {
		return err
	}
	filled, err := c.fill(ctx, secret, account)
	if err != nil || !filled {
		return err
	}
	_, err = c.client.Secrets(key.Namespace).Update(ctx, secret, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// fill adds missing data to a Secret, and reports whether it has changed.
func (c *controller) fill(ctx context.Context, secret *corev1.Secret, account *corev1.ServiceAccount) (bool, error) {
	changed := false
	set := func(key string, value []byte) {
		if !slices.Equal(secret.Data[key], value) {
			secret.Data[key], changed = value, true
		}
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	if len(c.RootCA) > 0 {
		set(corev1.ServiceAccountRootCAKey, c.RootCA)
	}
	if len(secret.Data[corev1.ServiceAccountNamespaceKey]) == 0 {
		set(corev1.ServiceAccountNamespaceKey, []byte(secret.Namespace))
	}
	if len(secret.Data[corev1.ServiceAccountTokenKey]) == 0 {
		token, err := serviceaccount.IssueLegacy(ctx, c.Issuer, account, secret.Name)
		if err != nil {
			return false, err
		}
		set(corev1.ServiceAccountTokenKey, []byte(token))
	}
	if secret.Annotations[corev1.ServiceAccountUIDKey] != string(account.UID) {
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, corev1.ServiceAccountUIDKey, string(account.UID))
		changed = true
	}
	return changed, nil
}

// removeTokens enqueues the Secrets of a deleted account.
func (c *controller) removeTokens(ctx context.Context, account control.Key) error {
	all, err := group.Secrets(c.env.Stores).List(control.Reading(ctx), account.Namespace, &metainternalversion.ListOptions{
		ResourceVersion: group.Cached,
		FieldSelector:   fields.OneTermEqualSelector("type", string(corev1.SecretTypeServiceAccountToken)),
	})
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Annotations[corev1.ServiceAccountNameKey] == account.Name {
			c.toSecrets.Add(control.Key{Namespace: s.Namespace, Name: s.Name})
		}
	}
	return nil
}

// remove deletes a Secret if it has not changed.
func (c *controller) remove(ctx context.Context, s *corev1.Secret) error {
	uid, version := s.UID, s.ResourceVersion
	err := c.client.Secrets(s.Namespace).Delete(ctx, s.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
