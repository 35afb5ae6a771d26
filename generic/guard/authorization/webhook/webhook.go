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

	"triplane/generic/base/authorizer"
	"triplane/generic/guard/authentication/webhook"
	"triplane/generic/guard/authorization"
)

const (
	// maxCached bounds the answers kept; longer questions are not kept at all.
	maxCached   = 4096
	maxQuestion = 10000
)

// Config is how a service is asked.
type Config struct {
	// Name is the webhook's in metrics.
	Name   string
	Caller *webhook.Caller
	// Version of SubjectAccessReview, v1 or v1beta1.
	Version string
	// AllowedTTL and DeniedTTL are how long answers are kept; 0 keeps none.
	AllowedTTL, DeniedTTL time.Duration
	// Conditions must all be true for the service to be asked.
	Conditions []*Condition
	// DenyOnError has requests refused that the service does not answer, or whose
	// conditions cannot be evaluated; without it there is no opinion about them.
	DenyOnError bool
	// Metrics may be nil.
	Metrics *Metrics
}

// Authorizer asks a service.
type Authorizer struct {
	authorization.NoRules
	Config
	onError authorizer.Decision
	now     func() time.Time

	mu    sync.Mutex
	known map[string]answer
}

type answer struct {
	status  authorizationv1.SubjectAccessReviewStatus
	expires time.Time
}

// New returns an authorizer that asks with SubjectAccessReviews.
func New(c Config) (*Authorizer, error) {
	if c.Version != "v1" && c.Version != "v1beta1" {
		return nil, fmt.Errorf("unsupported SubjectAccessReview version %q", c.Version)
	}
	w := &Authorizer{NoRules: "webhook", Config: c, onError: authorizer.NoOpinion, now: time.Now, known: map[string]answer{}}
	if c.DenyOnError {
		w.onError = authorizer.Deny
	}
	return w, nil
}

// applies reports whether the service is to be asked.
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
		status, err = w.ask(ctx, spec)
		w.Metrics.called(w.Name, err, !w.DenyOnError, w.now().Sub(start))
		if err != nil {
			return w.onError, "", err
		}
		w.store(string(key), status)
	}
	switch {
	case status.Denied && status.Allowed:
		return authorizer.Deny, status.Reason, fmt.Errorf("webhook subject access review returned both allow and deny response")
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
	known, ok := w.known[key]
	return known.status, ok && w.now().Before(known.expires)
}

func (w *Authorizer) store(key string, s authorizationv1.SubjectAccessReviewStatus) {
	ttl := w.DeniedTTL
	if s.Allowed {
		ttl = w.AllowedTTL
	}
	if ttl <= 0 || len(key) > maxQuestion {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.known) >= maxCached {
		w.known = map[string]answer{}
	}
	w.known[key] = answer{s, w.now().Add(ttl)}
}

func (w *Authorizer) ask(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error) {
	kind := metav1.TypeMeta{Kind: "SubjectAccessReview", APIVersion: "authorization.k8s.io/" + w.Version}
	if w.Version == "v1" {
		review := authorizationv1.SubjectAccessReview{TypeMeta: kind, Spec: spec}
		err := w.Caller.Call(ctx, &review)
		return review.Status, err
	}
	// v1beta1 spells groups "group"; selectors are not in it.
	review := authorizationv1beta1.SubjectAccessReview{TypeMeta: kind, Spec: authorizationv1beta1.SubjectAccessReviewSpec{
		User: spec.User, Groups: spec.Groups, UID: spec.UID,
	}}
	if r := spec.ResourceAttributes; r != nil {
		review.Spec.ResourceAttributes = &authorizationv1beta1.ResourceAttributes{Namespace: r.Namespace, Verb: r.Verb, Group: r.Group,
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
	return authorizationv1.SubjectAccessReviewStatus{Allowed: s.Allowed, Denied: s.Denied, Reason: s.Reason, EvaluationError: s.EvaluationError}, err
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
