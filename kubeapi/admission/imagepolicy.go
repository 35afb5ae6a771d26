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

	"triplane/generic/guard/admission"
	"triplane/generic/guard/admission/configuration"
	"triplane/generic/guard/authentication/webhook"
)

// imagePolicy asks a remote service whether the images of a pod may run
// (imagepolicy.k8s.io/v1alpha1 ImageReview). Answers are kept for a time.
//
// Options: --enable-admission-plugins; it is off by default. Its configuration, imagePolicy, says
// where the service is, for how long answers hold, and whether pods are admitted when it fails;
// without one the plugin does not start. Metrics: none. Order: behind AlwaysPullImages.
type imagePolicy struct {
	operations
	imagePolicySettings
	caller *webhook.Caller
	known  *cache.LRUExpireCache
}

// imagePolicySettings is the configuration: TTLs in seconds, the pause before another
// attempt in milliseconds. 0 is the default, and below 0 none.
type imagePolicySettings struct {
	KubeConfigFile string `json:"kubeConfigFile"`
	AllowTTL       int64  `json:"allowTTL"`
	DenyTTL        int64  `json:"denyTTL"`
	RetryBackoff   int64  `json:"retryBackoff"`
	DefaultAllow   bool   `json:"defaultAllow"`
}

const (
	// knownReviews bounds the answers that are kept.
	knownReviews = 1024
	// imagePolicyAudit is the prefix of this plugin's annotations of audit events.
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
		if err := settle(bounded.value, bounded.least, bounded.usual, bounded.most); err != nil {
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
	return &imagePolicy{operations{admission.Create, admission.Update}, s, caller.Pausing(time.Duration(s.RetryBackoff)), cache.NewLRUExpireCache(knownReviews)}, nil
}

// settle replaces 0 by what is usual, and below 0 by 0, and refuses what is out of bounds.
func settle(v *int64, least, usual, most int64) error {
	switch {
	case *v == 0:
		*v = usual
	case *v < 0:
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
		Spec:     imagepolicyv1alpha1.ImageReviewSpec{Namespace: a.Namespace, Annotations: imageAnnotations(pod.Annotations)},
	}
	for _, image := range imagesToReview(a, &pod.Spec) {
		review.Spec.Containers = append(review.Spec.Containers, imagepolicyv1alpha1.ImageReviewContainerSpec{Image: image})
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
		return forbidden(a, "image policy webhook backend denied one or more images: %s", status.Reason)
	}
	return admission.Forbidden(a, errors.New("one or more images rejected by webhook backend"))
}

// imagesToReview are those of the containers that an operation sets: of the ephemeral ones, or of
// the others.
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

// imageAnnotations are the annotations that are meant for the service.
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

func (p *imagePolicy) ask(ctx context.Context, review *imagepolicyv1alpha1.ImageReview) (*imagepolicyv1alpha1.ImageReviewStatus, error) {
	key, err := json.Marshal(review.Spec)
	if err != nil {
		return nil, err
	}
	if status, ok := p.known.Get(string(key)); ok {
		return status.(*imagepolicyv1alpha1.ImageReviewStatus), nil
	}
	asked := review.TypeMeta
	if err := p.caller.Call(ctx, review); err != nil {
		return nil, err
	}
	if review.TypeMeta != asked {
		return nil, fmt.Errorf("the answer is a %s rather than a %s", review.GroupVersionKind(), asked.GroupVersionKind())
	}
	ttl := time.Duration(p.DenyTTL)
	if review.Status.Allowed {
		ttl = time.Duration(p.AllowTTL)
	}
	p.known.Add(string(key), &review.Status, ttl)
	return &review.Status, nil
}

// failed decides when nobody answers.
func (p *imagePolicy) failed(ctx context.Context, a *admission.Attributes, err error) error {
	if !p.DefaultAllow {
		return admission.Forbidden(a, err)
	}
	klog.ErrorS(err, "The image policy service failed; the pod is admitted", "namespace", a.Namespace, "pod", a.ObjectName())
	admission.Annotate(ctx, imagePolicyAudit, "failed-open", "true")
	return nil
}
