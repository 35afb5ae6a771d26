package certificates

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certificatesv1client "k8s.io/client-go/kubernetes/typed/certificates/v1"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const (
	// settled is how long signed, denied and failed requests are kept.
	settled = time.Hour
	// pending is how long requests are kept that wait for approval or a signature.
	pending = 24 * time.Hour
)

type cleaner struct {
	env    *control.Env
	client certificatesv1client.CertificateSigningRequestInterface
	queue  *control.Queue[string]
	now    func() time.Time
}

// NewCleaner returns the controller that deletes old requests.
func NewCleaner(e *control.Env) (worker.Runner, error) {
	client, err := certificatesv1client.NewForConfig(e.As(serviceAccount))
	if err != nil {
		return nil, err
	}
	c := &cleaner{env: e, client: client.CertificateSigningRequests(), now: time.Now}
	c.queue = control.NewQueue(e, "certificate_cleaning", 1, c.sync)
	follow(e, c.queue)
	return c.queue, nil
}

func (c *cleaner) sync(ctx context.Context, name string) error {
	csr, err := group.CertificateSigningRequests(c.env.Stores).GetCached(control.Reading(ctx), "", name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if left := expiry(csr).Sub(c.now()); left > 0 {
		c.queue.AddAfter(name, left)
		return nil
	}
	err = c.client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &csr.UID,
		ResourceVersion: &csr.ResourceVersion}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// expiry returns when a request is deleted.
func expiry(csr *certificatesv1.CertificateSigningRequest) time.Time {
	at := csr.CreationTimestamp.Add(pending)
	soonest := func(t time.Time) {
		if t.Before(at) {
			at = t
		}
	}
	for i := range csr.Status.Conditions {
		switch c := &csr.Status.Conditions[i]; c.Type {
		case certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			soonest(c.LastUpdateTime.Add(settled))
		case certificatesv1.CertificateApproved:
			if len(csr.Status.Certificate) > 0 {
				soonest(c.LastUpdateTime.Add(settled))
			}
		}
	}
	if block, _ := pem.Decode(csr.Status.Certificate); block != nil {
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
			soonest(certificate.NotAfter)
		}
	}
	return at
}
