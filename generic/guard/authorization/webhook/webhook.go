package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/guard/authentication/webhook"
	"triplane.dev/generic/guard/authorization"
)

const (
	// maxCached limits the number of cached responses. Reviews longer than maxCachedSpec bytes are not cached.
	maxCached     = 4096
	maxCachedSpec = 10000
)

// Config configures an Authorizer.
type Config struct {
	// Name is the name of the webhook in metrics.
	Name   string
	Caller *webhook.Caller
	// Version is the version of SubjectAccessReview, v1 or v1beta1.
	Version string
	// AllowedTTL and DeniedTTL are how long responses are cached; 0 disables caching.
	AllowedTTL, DeniedTTL time.Duration
	// Conditions must all be true, otherwise the authorizer has no opinion and does not call the service.
	Conditions []*Condition
	// DenyOnError denies requests if the call or a condition fails. Otherwise the authorizer has no opinion on
	// them.
	DenyOnError bool
	// Metrics may be nil.
	Metrics *Metrics
}

// Authorizer authorizes requests with SubjectAccessReviews.
type Authorizer struct {
	authorization.NoRules
	Config
	onError authorizer.Decision
	now     func() time.Time

	mu    sync.Mutex
	cache map[string]cachedStatus
}

type cachedStatus struct {
	status  authorizationv1.SubjectAccessReviewStatus
	expires time.Time
}

// New returns an Authorizer. It returns an error if the version is not supported.
func New(c Config) (*Authorizer, error) {
	if c.Version != "v1" && c.Version != "v1beta1" {
		return nil, fmt.Errorf("unsupported SubjectAccessReview version %q", c.Version)
	}
	w := &Authorizer{NoRules: "webhook", Config: c, onError: authorizer.NoOpinion, now: time.Now,
		cache: map[string]cachedStatus{}}
	if c.DenyOnError {
		w.onError = authorizer.Deny
	}
	return w, nil
}

// applies reports whether all conditions are true.
func (w *Authorizer) applies(ctx context.Context, spec *authorizationv1.SubjectAccessReviewSpec) (bool, error) {
	if len(w.Conditions) == 0 {
		return true, nil
	}
	start := w.now()
	matches, err := match(ctx, w.Conditions, spec)
	w.Metrics.evaluated(w.Name, matches, err, w.now().Sub(start))
	return matches, err
}

// Authorize implements authorizer.Authorizer.
func (w *Authorizer) Authorize(ctx context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	spec := specOf(a)
	if applies, err := w.applies(ctx, &spec); err != nil {
		return w.onError, "", err
	} else if !applies {
		return authorizer.NoOpinion, "", nil
	}
	key, err := json.Marshal(&spec)
	if err != nil {
		return w.onError, "", err
	}
	status, ok := w.lookup(string(key))
	if !ok {
		start := w.now()
		status, err = w.review(ctx, spec)
		w.Metrics.called(w.Name, err, !w.DenyOnError, w.now().Sub(start))
		if err != nil {
			return w.onError, "", err
		}
		w.store(string(key), status)
	}
	switch {
	case status.Denied && status.Allowed:
		return authorizer.Deny, status.Reason,
			fmt.Errorf("webhook subject access review returned both allow and deny response")
	case status.Denied:
		return authorizer.Deny, status.Reason, nil
	case status.Allowed:
		return authorizer.Allow, status.Reason, nil
	}
	return authorizer.NoOpinion, status.Reason, nil
}

func (w *Authorizer) lookup(key string) (authorizationv1.SubjectAccessReviewStatus, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	cache, ok := w.cache[key]
	return cache.status, ok && w.now().Before(cache.expires)
}

func (w *Authorizer) store(key string, s authorizationv1.SubjectAccessReviewStatus) {
	ttl := w.DeniedTTL
	if s.Allowed {
		ttl = w.AllowedTTL
	}
	if ttl <= 0 || len(key) > maxCachedSpec {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.cache) >= maxCached {
		w.cache = map[string]cachedStatus{}
	}
	w.cache[key] = cachedStatus{s, w.now().Add(ttl)}
}

func (w *Authorizer) review(ctx context.Context,
	spec authorizationv1.SubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error) {
	kind := metav1.TypeMeta{Kind: "SubjectAccessReview", APIVersion: "authorization.k8s.io/" + w.Version}
	if w.Version == "v1" {
		review := authorizationv1.SubjectAccessReview{TypeMeta: kind, Spec: spec}
		err := w.Caller.Call(ctx, &review)
		return review.Status, err
	}
	// In v1beta1 the field for groups is "group", and there are no selectors.
	review := authorizationv1beta1.SubjectAccessReview{TypeMeta: kind, Spec: authorizationv1beta1.SubjectAccessReviewSpec{
		User: spec.User, Groups: spec.Groups, UID: spec.UID,
	}}
	if r := spec.ResourceAttributes; r != nil {
		review.Spec.ResourceAttributes = &authorizationv1beta1.ResourceAttributes{Namespace: r.Namespace, Verb: r.Verb,
			Group:   r.Group,
			Version: r.Version, Resource: r.Resource, Subresource: r.Subresource, Name: r.Name}
	}
	if n := spec.NonResourceAttributes; n != nil {
		review.Spec.NonResourceAttributes = &authorizationv1beta1.NonResourceAttributes{Path: n.Path, Verb: n.Verb}
	}
	for k, v := range spec.Extra {
		if review.Spec.Extra == nil {
			review.Spec.Extra = map[string]authorizationv1beta1.ExtraValue{}
		}
		review.Spec.Extra[k] = authorizationv1beta1.ExtraValue(v)
	}
	err := w.Caller.Call(ctx, &review)
	s := review.Status
	return authorizationv1.SubjectAccessReviewStatus{Allowed: s.Allowed, Denied: s.Denied, Reason: s.Reason,
		EvaluationError: s.EvaluationError}, err
}

func specOf(a *authorizer.Attributes) authorizationv1.SubjectAccessReviewSpec {
	var spec authorizationv1.SubjectAccessReviewSpec
	if u := a.User; u != nil {
		spec.User, spec.UID, spec.Groups = u.Name, u.UID, u.Groups
		for k, v := range u.Extra {
			if spec.Extra == nil {
				spec.Extra = map[string]authorizationv1.ExtraValue{}
			}
			spec.Extra[k] = v
		}
	}
	if !a.ResourceRequest {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: a.Path, Verb: a.Verb}
		return spec
	}
	spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Namespace: a.Namespace, Verb: a.Verb, Group: a.APIGroup, Version: a.APIVersion,
		Resource: a.Resource, Subresource: a.Subresource, Name: a.Name,
	}
	addSelectors(spec.ResourceAttributes, a)
	return spec
}
