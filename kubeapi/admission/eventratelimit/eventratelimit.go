package eventratelimit

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/lru"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/configuration"
)

// Plugin limits the rate of events: of all, of a namespace, of a user, or of a source about an object.
//
// Options: --enable-admission-plugins; it is off by default. Its configuration
// (eventratelimit.admission.k8s.io/v1alpha1, kind Configuration) has the limits and is required. Metrics: none.
// Order: after the plugins that mutate objects.
type Plugin struct{ limits []*eventLimit }

// eventLimits is the configuration.
type eventLimits struct {
	Limits []limitSpec `json:"limits"`
}

// limitSpec is one limit: qps events per second with a burst, for each of the last cacheSize keys.
type limitSpec struct {
	Type      string `json:"type"`
	QPS       int32  `json:"qps"`
	Burst     int32  `json:"burst"`
	CacheSize int32  `json:"cacheSize"`
}

const (
	limitServer          = "Server"
	limitNamespace       = "Namespace"
	limitUser            = "User"
	limitSourceAndObject = "SourceAndObject"

	defaultEventKeys = 4096
)

// eventLimit has the token buckets of a limit. It is safe for concurrent use.
type eventLimit struct {
	limitSpec
	buckets *lru.Cache
}

// New returns the plugin for its configuration. It returns an error for an invalid one, or without limits.
func New(raw []byte) (*Plugin, error) {
	var c eventLimits
	kind := schema.GroupVersionKind{Group: "eventratelimit.admission.k8s.io", Version: "v1alpha1",
		Kind: "Configuration"}
	if err := configuration.DecodeLenient(raw, &c, kind); err != nil {
		return nil, err
	}
	if errs := c.validate(); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	p := &Plugin{}
	for _, spec := range c.Limits {
		size := int(spec.CacheSize)
		switch {
		case spec.Type == limitServer:
			size = 1
		case size == 0:
			size = defaultEventKeys
		}
		p.limits = append(p.limits, &eventLimit{spec, lru.New(size)})
	}
	return p, nil
}

func (c *eventLimits) validate() field.ErrorList {
	var errs field.ErrorList
	list := field.NewPath("limits")
	if len(c.Limits) == 0 {
		errs = append(errs, field.Invalid(list, c.Limits, "must not be empty"))
	}
	types := []string{limitServer, limitNamespace, limitUser, limitSourceAndObject}
	for i, l := range c.Limits {
		path := list.Index(i)
		switch l.Type {
		case limitServer, limitNamespace, limitUser, limitSourceAndObject:
		default:
			errs = append(errs, field.NotSupported(path.Child("type"), l.Type, types))
		}
		if l.Burst <= 0 {
			errs = append(errs, field.Invalid(path.Child("burst"), l.Burst, "must be positive"))
		}
		if l.QPS <= 0 {
			errs = append(errs, field.Invalid(path.Child("qps"), l.QPS, "must be positive"))
		}
		if l.Type != limitServer && l.CacheSize < 0 {
			errs = append(errs, field.Invalid(path.Child("cacheSize"), l.CacheSize, "must not be negative"))
		}
	}
	return errs
}

// Handles implements admission.Interface.
func (*Plugin) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidatingInterface.
func (p *Plugin) Validate(_ context.Context, a *admission.Attributes) error {
	e, ok := a.Object.(*corev1.Event)
	if !ok || a.DryRun || a.Subresource != "" {
		return nil
	}
	var errs []error
	for _, l := range p.limits {
		if key := l.key(a, e); !l.accepts(key) {
			errs = append(errs, fmt.Errorf("limit reached on type %v for key %v", l.Type, key))
		}
	}
	if len(errs) > 0 {
		return apierrors.NewTooManyRequestsError(utilerrors.NewAggregate(errs).Error())
	}
	return nil
}

// accepts takes a token from a key's bucket. Concurrent first events of a key may get separate buckets.
func (l *eventLimit) accepts(key string) bool {
	if b, ok := l.buckets.Get(key); ok {
		return b.(flowcontrol.RateLimiter).TryAccept()
	}
	b := flowcontrol.NewTokenBucketRateLimiter(float32(l.QPS), int(l.Burst))
	l.buckets.Add(key, b)
	return b.TryAccept()
}

// key returns the key of an event's bucket.
func (l *eventLimit) key(a *admission.Attributes, e *corev1.Event) string {
	switch l.Type {
	case limitNamespace:
		return a.Namespace
	case limitUser:
		if a.User != nil {
			return a.User.Name
		}
	case limitSourceAndObject:
		o := &e.InvolvedObject
		return strings.Join([]string{e.Source.Component, e.Source.Host, o.Kind, o.Namespace, o.Name, string(o.UID),
			o.APIVersion}, "")
	}
	return ""
}
