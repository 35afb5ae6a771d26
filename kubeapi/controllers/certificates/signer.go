package certificates

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
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
	// backdate is how long before signing a certificate becomes valid, for clocks that differ.
	backdate = 5 * time.Minute
	// shortest is the minimum lifetime of a certificate.
	shortest = 10 * time.Minute
)

// Authority is a CA that signs certificates.
type Authority struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
	// Duration is the maximum lifetime of certificates.
	Duration time.Duration
}

type signer struct {
	env       *control.Env
	client    certificatesv1client.CertificateSigningRequestInterface
	authority func() (*Authority, error)
	now       func() time.Time
}

// NewSigner returns the controller that signs. authority is called for each certificate.
func NewSigner(e *control.Env, authority func() (*Authority, error)) (worker.Runner, error) {
	client, err := certificatesv1client.NewForConfig(e.As(serviceAccount))
	if err != nil {
		return nil, err
	}
	s := &signer{env: e, client: client.CertificateSigningRequests(), authority: authority, now: time.Now}
	queue := control.NewQueue(e, "certificate_signing", workers, s.sync)
	follow(e, queue)
	return queue, nil
}

// sync signs an approved request, or sets the condition Failed.
func (s *signer) sync(ctx context.Context, name string) error {
	csr, err := group.CertificateSigningRequests(s.env.Stores).GetCached(control.Reading(ctx), "", name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || !signs(csr.Spec.SignerName) || !approved(csr) || len(csr.Status.Certificate) > 0 ||
		condition(csr, certificatesv1.CertificateFailed) != nil {
		return err
	}
	r, err := validate(csr)
	if err != nil {
		csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateFailed, Status: conditionTrue, Reason: "SignerValidationFailure",
			Message: err.Error(),
		})
	} else if csr.Status.Certificate, err = s.sign(csr, r); err != nil {
		return fmt.Errorf("signing %s: %w", name, err)
	}
	_, err = s.client.UpdateStatus(ctx, csr, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// sign returns the certificate in PEM.
func (s *signer) sign(csr *certificatesv1.CertificateSigningRequest, r *x509.CertificateRequest) ([]byte, error) {
	a, err := s.authority()
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, err
	}
	begin := s.now().Add(-backdate).UTC().Truncate(time.Second)
	end := begin.Add(backdate).Add(life(csr, a.Duration))
	if begin.Before(a.Certificate.NotBefore) {
		begin = a.Certificate.NotBefore
	}
	if end.After(a.Certificate.NotAfter) {
		end = a.Certificate.NotAfter
	}
	usage, extended, err := usages(csr.Spec.Usages)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: r.Subject,
		DNSNames: r.DNSNames, IPAddresses: r.IPAddresses, EmailAddresses: r.EmailAddresses, URIs: r.URIs,
		NotBefore: begin, NotAfter: end, KeyUsage: usage, ExtKeyUsage: extended, BasicConstraintsValid: true,
	}, a.Certificate, r.PublicKey, a.Key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// life returns the lifetime of a certificate.
func life(csr *certificatesv1.CertificateSigningRequest, most time.Duration) time.Duration {
	if csr.Spec.ExpirationSeconds == nil {
		return most
	}
	asked := time.Duration(*csr.Spec.ExpirationSeconds) * time.Second
	return min(most, max(asked, shortest))
}

var keyUsages = map[certificatesv1.KeyUsage]x509.KeyUsage{
	certificatesv1.UsageSigning:           x509.KeyUsageDigitalSignature,
	certificatesv1.UsageDigitalSignature:  x509.KeyUsageDigitalSignature,
	certificatesv1.UsageContentCommitment: x509.KeyUsageContentCommitment,
	certificatesv1.UsageKeyEncipherment:   x509.KeyUsageKeyEncipherment,
	certificatesv1.UsageKeyAgreement:      x509.KeyUsageKeyAgreement,
	certificatesv1.UsageDataEncipherment:  x509.KeyUsageDataEncipherment,
	certificatesv1.UsageCRLSign:           x509.KeyUsageCRLSign,
	certificatesv1.UsageEncipherOnly:      x509.KeyUsageEncipherOnly,
	certificatesv1.UsageDecipherOnly:      x509.KeyUsageDecipherOnly,
}

var extendedUsages = map[certificatesv1.KeyUsage]x509.ExtKeyUsage{
	certificatesv1.UsageAny: x509.ExtKeyUsageAny, certificatesv1.UsageServerAuth: x509.ExtKeyUsageServerAuth,
	certificatesv1.UsageClientAuth:      x509.ExtKeyUsageClientAuth,
	certificatesv1.UsageCodeSigning:     x509.ExtKeyUsageCodeSigning,
	certificatesv1.UsageEmailProtection: x509.ExtKeyUsageEmailProtection,
	certificatesv1.UsageSMIME:           x509.ExtKeyUsageEmailProtection,
	certificatesv1.UsageIPsecEndSystem:  x509.ExtKeyUsageIPSECEndSystem,
	certificatesv1.UsageIPsecTunnel:     x509.ExtKeyUsageIPSECTunnel,
	certificatesv1.UsageIPsecUser:       x509.ExtKeyUsageIPSECUser,
	certificatesv1.UsageTimestamping:    x509.ExtKeyUsageTimeStamping,
	certificatesv1.UsageOCSPSigning:     x509.ExtKeyUsageOCSPSigning,
	certificatesv1.UsageMicrosoftSGC:    x509.ExtKeyUsageMicrosoftServerGatedCrypto,
	certificatesv1.UsageNetscapeSGC:     x509.ExtKeyUsageNetscapeServerGatedCrypto,
}

// usages converts the usages of a request.
func usages(names []certificatesv1.KeyUsage) (usage x509.KeyUsage, extended []x509.ExtKeyUsage, err error) {
	for _, name := range names {
		if u, ok := keyUsages[name]; ok {
			usage |= u
		} else if e, ok := extendedUsages[name]; ok {
			extended = append(extended, e)
		} else {
			return 0, nil, fmt.Errorf("unrecognized usage %q", name)
		}
	}
	return usage, extended, nil
}
