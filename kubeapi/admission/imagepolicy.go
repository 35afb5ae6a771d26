package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/klog/v2"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/configuration"
	"triplane.dev/generic/guard/authentication/webhook"
)

// imagePolicy sends the images of a pod to a webhook for review (imagepolicy.k8s.io/v1alpha1 ImageReview).
// Responses are cached.
//
// Options: --enable-admission-plugins; it is off by default. Its configuration, imagePolicy, is required. It has
// the webhook's kubeconfig, cache TTLs, and whether pods are admitted if the webhook fails. Metrics: none. Order:
// after AlwaysPullImages.
type imagePolicy struct {
	operations
	imagePolicySettings
	caller *webhook.Caller
	known  *cache.LRUExpireCache
}

// imagePolicySettings is the configuration: TTLs in seconds, and the retry interval in milliseconds. 0 means the
// default, -1 means none.
type imagePolicySettings struct {
	KubeConfigFile string `json:"kubeConfigFile"`
	AllowTTL       int64  `json:"allowTTL"`
	DenyTTL        int64  `json:"denyTTL"`
	RetryBackoff   int64  `json:"retryBackoff"`
	DefaultAllow   bool   `json:"defaultAllow"`
}

const (
	// knownReviews bounds the cached responses.
	knownReviews = 1024
	// imagePolicyAudit is the prefix of this plugin's audit annotations.
	imagePolicyAudit = "imagepolicywebhook.image-policy.k8s.io"
	imagePolicyInfix = ".image-policy.k8s.io/"
)

func newImagePolicy(d *Dependencies, raw []byte) (admission.Interface, error) {
	var c struct {
		ImagePolicy imagePolicySettings `json:"imagePolicy"`
	}
	if err := configuration.DecodeUnversioned(raw, &c); err != nil {
		return nil, err
	}
	s := c.ImagePolicy
	for _, bounded := range []struct {
		name                    string
		value                   *int64
		least, usual, most, one int64
	}{
		{"allowTTL", &s.AllowTTL, 1, 300, 1800, int64(time.Second)},
		{"denyTTL", &s.DenyTTL, 1, 30, 1800, int64(time.Second)},
		{"retryBackoff", &s.RetryBackoff, 1, 500, 5 * 60 * 1000, int64(time.Millisecond)},
	} {
		if err := setDefault(bounded.value, bounded.least, bounded.usual, bounded.most); err != nil {
			return nil, fmt.Errorf("%s: %w", bounded.name, err)
		}
		*bounded.value *= bounded.one
	}
	var dial webhook.Dial
	if d.Services != nil {
		dial = d.Services.DialControlPlane
	}
	caller, err := webhook.NewCaller(s.KubeConfigFile, dial)
	if err != nil {
		return nil, err
	}
	return &imagePolicy{operations{admission.Create, admission.Update}, s,
		caller.Pausing(time.Duration(s.RetryBackoff)), cache.NewLRUExpireCache(knownReviews)}, nil
}

// setDefault replaces 0 by the default and -1 by 0. It returns an error if v is out of bounds.
func setDefault(v *int64, least, usual, most int64) error {
	switch {
	case *v == 0:
		*v = usual
	case *v == -1:
		*v = 0
	case *v < least || *v > most:
		return fmt.Errorf("valid value is between %d and %d, got %d", least, most, *v)
	}
	return nil
}

// Validate implements admission.ValidatingInterface.
func (p *imagePolicy) Validate(ctx context.Context, a *admission.Attributes) error {
	pod := runsIn(a)
	if pod == nil {
		return nil
	}
	review := &imagepolicyv1alpha1.ImageReview{
		TypeMeta: metav1.TypeMeta{APIVersion: imagepolicyv1alpha1.SchemeGroupVersion.String(), Kind: "ImageReview"},
		Spec: imagepolicyv1alpha1.ImageReviewSpec{Namespace: a.Namespace,
			Annotations: imageAnnotations(pod.Annotations)},
	}
	for _, image := range imagesToReview(a, &pod.Spec) {
		review.Spec.Containers = append(review.Spec.Containers,
			imagepolicyv1alpha1.ImageReviewContainerSpec{Image: image})
	}
	status, err := p.ask(ctx, review)
	if err != nil {
		return p.failed(ctx, a, err)
	}
	for k, v := range status.AuditAnnotations {
		admission.Annotate(ctx, imagePolicyAudit, k, v)
	}
	switch {
	case status.Allowed:
		return nil
	case status.Reason != "":
		return admission.Forbiddenf(a, "image policy webhook backend denied one or more images: %s", status.Reason)
	}
	return admission.Forbidden(a, errors.New("one or more images rejected by webhook backend"))
}

// imagesToReview returns the images of the containers that an operation sets: the ephemeral ones, or all others.
func imagesToReview(a *admission.Attributes, s *corev1.PodSpec) []string {
	var images []string
	if a.Subresource == "ephemeralcontainers" {
		for i := range s.EphemeralContainers {
			images = append(images, s.EphemeralContainers[i].Image)
		}
		return images
	}
	for _, c := range slices.Concat(s.Containers, s.InitContainers) {
		images = append(images, c.Image)
	}
	return images
}

// imageAnnotations returns the annotations for the webhook.
func imageAnnotations(all map[string]string) map[string]string {
	var out map[string]string
	for k, v := range all {
		if !strings.Contains(k, imagePolicyInfix) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[k] = v
	}
	return out
}

func (p *imagePolicy) ask(
	ctx context.Context, review *imagepolicyv1alpha1.ImageReview,
) (*imagepolicyv1alpha1.ImageReviewStatus, error) {
	key, err := json.Marshal(review.Spec)
	if err != nil {
		return nil, err
	}
	if status, ok := p.known.Get(string(key)); ok {
		return status.(*imagepolicyv1alpha1.ImageReviewStatus), nil
	}
	if err := p.caller.Call(ctx, review); err != nil {
		return nil, err
	}
	ttl := time.Duration(p.DenyTTL)
	if review.Status.Allowed {
		ttl = time.Duration(p.AllowTTL)
	}
	p.known.Add(string(key), &review.Status, ttl)
	return &review.Status, nil
}

// failed returns the decision if the webhook failed.
func (p *imagePolicy) failed(ctx context.Context, a *admission.Attributes, err error) error {
	if !p.DefaultAllow {
		return admission.Forbidden(a, err)
	}
	klog.ErrorS(err, "Image policy webhook failed, admitting the pod", "namespace", a.Namespace, "pod", a.ObjectName())
	admission.Annotate(ctx, imagePolicyAudit, "failed-open", "true")
	return nil
}
