package legacytoken

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"

	"triplane.dev/generic/guard/authentication/serviceaccount"
	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const (
	every        = 24 * time.Hour
	trackingName = "kube-apiserver-legacy-service-account-token-tracking"
	sinceKey     = "since"
)

type controller struct {
	env    *control.Env
	client corev1client.SecretsGetter
	unused time.Duration
	now    func() time.Time

	mu     sync.Mutex
	tokens bool      // whether there may be Secrets with tokens
	next   time.Time // when one of them is next marked or deleted; zero if not known
}

// New returns the controller. unused is how long a token must be unused before its Secret is marked, and again
// before it is deleted.
func New(e *control.Env, unused time.Duration) (worker.Runner, error) {
	client, err := corev1client.NewForConfig(e.As("legacy-service-account-token-cleaner"))
	if err != nil {
		return nil, err
	}
	c := &controller{env: e, client: client, unused: unused, now: time.Now}
	e.Feed.On(group.Secrets(e.Stores).Resource(), func(o *control.Object) {
		if o.Mentions(string(corev1.SecretTypeServiceAccountToken)) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.tokens = true
		}
	})
	e.WhenDue(c.due)
	return worker.Every(0, every, func(ctx context.Context) {
		if err := c.clean(ctx); err != nil && ctx.Err() == nil {
			klog.InfoS("Failed to check for unused service account tokens", "err", err)
		}
	}), nil
}

// due returns when a Secret is next marked or deleted, if none is used before; at the latest after another period.
func (c *controller) due() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.tokens:
		return time.Time{}
	case c.next.IsZero():
		return c.now().Add(c.unused)
	}
	return c.next
}

// expect records when a Secret is next marked or deleted.
func (c *controller) expect(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next.IsZero() || at.Before(c.next) {
		c.next = at
	}
}

// clean checks all Secrets, once usage has been tracked for long enough.
func (c *controller) clean(ctx context.Context) error {
	tracking, err := group.ConfigMaps(c.env.Stores).GetCached(control.Reading(ctx), metav1.NamespaceSystem, trackingName)
	if err != nil {
		return err
	}
	since, err := time.Parse(time.DateOnly, tracking.Data[sinceKey])
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.next = time.Time{}
	c.mu.Unlock()
	if !c.over(since) {
		c.expect(since.Add(c.unused))
		return nil
	}
	all, err := group.Secrets(c.env.Stores).List(control.Reading(ctx), "", &metainternalversion.ListOptions{
		ResourceVersion: group.Cached,
		FieldSelector:   fields.OneTermEqualSelector("type", string(corev1.SecretTypeServiceAccountToken)),
	})
	if err != nil || len(all) == 0 {
		return err
	}
	mounted, err := c.mounted(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		if err := c.look(ctx, s, since, mounted); err != nil && !apierrors.IsNotFound(err) &&
			!apierrors.IsConflict(err) {
			klog.InfoS("Failed to clean up an unused service account token", "secret", klog.KObj(s), "err", err)
		}
	}
	return nil
}

// over reports whether more time than unused has passed since a day.
func (c *controller) over(day time.Time) bool { return c.now().After(day.Add(c.unused)) }

// mounted returns the Secrets that pods mount.
func (c *controller) mounted(ctx context.Context) (map[control.Key]bool, error) {
	all, err := group.Pods(c.env.Stores).ListCached(control.Reading(ctx), "")
	if err != nil {
		return nil, err
	}
	out := map[control.Key]bool{}
	for _, p := range all {
		for i := range p.Spec.Volumes {
			if s := p.Spec.Volumes[i].Secret; s != nil {
				out[control.Key{Namespace: p.Namespace, Name: s.SecretName}] = true
			}
		}
	}
	return out, nil
}

// look marks an unused Secret, or deletes one that was marked long ago.
func (c *controller) look(
	ctx context.Context, s *corev1.Secret, tracked time.Time, mounted map[control.Key]bool,
) error {
	if mounted[control.Key{Namespace: s.Namespace, Name: s.Name}] || !c.automatic(ctx, s) {
		return nil
	}
	used := tracked
	if day, err := time.Parse(time.DateOnly, s.Labels[serviceaccount.LastUsedLabel]); err == nil {
		used = day
	}
	mark, marked := s.Labels[serviceaccount.InvalidSinceLabel]
	invalid, err := time.Parse(time.DateOnly, mark)
	switch {
	case !c.over(used) || s.CreationTimestamp.Add(c.unused).After(c.now()):
		c.expect(later(used, s.CreationTimestamp.Time).Add(c.unused))
		if !marked {
			return nil
		}
		return c.label(ctx, s, nil)
	case !marked || err != nil:
		c.expect(c.now().Add(c.unused))
		today := c.now().UTC().Format(time.DateOnly)
		return c.label(ctx, s, &today)
	case c.over(invalid):
		version := s.ResourceVersion
		return c.client.Secrets(s.Namespace).Delete(ctx, s.Name,
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}})
	}
	c.expect(invalid.Add(c.unused))
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// automatic reports whether a service account lists the Secret.
func (c *controller) automatic(ctx context.Context, s *corev1.Secret) bool {
	account, err := group.ServiceAccounts(c.env.Stores).GetCached(control.Reading(ctx), s.Namespace,
		s.Annotations[corev1.ServiceAccountNameKey])
	if err != nil {
		return false
	}
	for i := range account.Secrets {
		if account.Secrets[i].Name == s.Name {
			return true
		}
	}
	return false
}

// label sets or removes the mark.
func (c *controller) label(ctx context.Context, s *corev1.Secret, value *string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": s.ResourceVersion, "labels": map[string]*string{serviceaccount.InvalidSinceLabel: value},
	}})
	if err != nil {
		return err
	}
	_, err = c.client.Secrets(s.Namespace).Patch(ctx, s.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
