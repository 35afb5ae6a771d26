package serviceaccount

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"triplane.dev/generic/base/request"
)

// Labels of Secrets with tokens. The cleanup of unused tokens uses them (KEP-2799).
const (
	LastUsedLabel     = "kubernetes.io/legacy-token-last-used"
	InvalidSinceLabel = "kubernetes.io/legacy-token-invalid-since"
)

// recordUse records the use, and returns an error for a token that is marked invalid.
func (a *Authenticator) recordUse(ctx context.Context, secret *corev1.Secret, account *corev1.ServiceAccount) error {
	a.uses.record(ctx, secret, a.now().UTC().Format(time.DateOnly))
	automatic := false
	for _, r := range account.Secrets {
		automatic = automatic || r.Name == secret.Name
	}
	if since := secret.Labels[InvalidSinceLabel]; since != "" {
		a.config.Metrics.legacyInvalid()
		klog.InfoS("Rejected service account token that is marked invalid", "secret", klog.KObj(secret), "serviceAccount",
			klog.KObj(account), "since", since)
		return fmt.Errorf("the token in secret %s/%s for service account %s/%s has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '%s' label from the secret to temporarily allow use of this token",
			secret.Namespace, secret.Name, account.Namespace, account.Name, InvalidSinceLabel)
	}
	a.config.Metrics.legacyUsed(automatic)
	if automatic {
		request.AddWarning(ctx,
			"Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.")
	}
	return nil
}

// maxRecorded limits how many Secrets of one day useRecorder remembers.
const maxRecorded = 4096

// useRecorder records on Secrets when their tokens were last used, at most once a day. The zero value records
// nothing.
type useRecorder struct {
	write func(ctx context.Context, namespace, name, day string) error

	mu  sync.Mutex
	day string
	// seen are the UIDs of the Secrets that are recorded for the day. It is needed because the cache of Secrets
	// lags behind the writes.
	seen map[string]bool
}

func (r *useRecorder) record(ctx context.Context, secret *corev1.Secret, day string) {
	if r.write == nil || secret.Labels[LastUsedLabel] == day || !r.claim(string(secret.UID), day) {
		return
	}
	if err := r.write(ctx, secret.Namespace, secret.Name, day); err != nil {
		klog.ErrorS(err, "Failed to record the use of a service account token", "secret", klog.KObj(secret))
		r.release(string(secret.UID))
	}
}

func (r *useRecorder) claim(uid, day string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.day != day || len(r.seen) >= maxRecorded {
		r.day, r.seen = day, map[string]bool{}
	}
	if r.seen[uid] {
		return false
	}
	r.seen[uid] = true
	return true
}

func (r *useRecorder) release(uid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, uid)
}
