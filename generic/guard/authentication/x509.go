package authentication

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"triplane.dev/generic/base/user"
)

// failureTTL is how long a failed verification is cached.
const failureTTL = 10 * time.Second

// maxKnownCertificates limits each generation of cached verifications.
const maxKnownCertificates = 2048

// uidOID is the subject attribute with the user's UID.
var uidOID = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}

// verifiedChain is the cached result of a verification. It is valid for one generation of the CA bundle and, if
// successful, while all certificates of the chain are valid.
type verifiedChain struct {
	response   *Response
	err        error
	generation uint64
	from, to   time.Time
}

// certificateVerifier verifies client certificates with a CA bundle. It caches the results, because clients
// send the same certificates on each connection.
type certificateVerifier struct {
	bundle *CABundle
	known  recent[[sha256.Size]byte, verifiedChain]
}

// verify verifies the chain of a leaf certificate and returns the result of userOf for the leaf.
func (v *certificateVerifier) verify(certs []*x509.Certificate,
	userOf func(*x509.Certificate) (*Response, error)) (*Response, error) {
	g := v.bundle.generation()
	key := hashChain(certs)
	now := time.Now()
	if k, ok := v.known.get(key); ok && k.generation == g.number && now.After(k.from) && now.Before(k.to) {
		return k.response, k.err
	}
	k := verifiedChain{generation: g.number, from: now.Add(-time.Nanosecond), to: now.Add(failureTTL)}
	if chains, err := v.chains(certs, g, now); err != nil {
		k.err = err
	} else if k.response, k.err = userOf(certs[0]); k.err == nil {
		k.from, k.to = validity(chains[0])
	}
	v.known.put(key, k)
	return k.response, k.err
}

func (v *certificateVerifier) chains(certs []*x509.Certificate, g *caGeneration, now time.Time) ([][]*x509.Certificate,
	error) {
	leaf := certs[0]
	opts := x509.VerifyOptions{
		Roots: g.pool, Intermediates: x509.NewCertPool(), CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, c := range certs[1:] {
		opts.Intermediates.AddCert(c)
	}
	chains, err := leaf.Verify(opts)
	if err != nil {
		return nil, fmt.Errorf("verifying certificate %s failed: %w", describeCertificate(leaf), err)
	}
	return chains, nil
}

// validity returns the period in which all certificates of a chain are valid.
func validity(chain []*x509.Certificate) (from, to time.Time) {
	from, to = chain[0].NotBefore, chain[0].NotAfter
	for _, c := range chain[1:] {
		if c.NotBefore.After(from) {
			from = c.NotBefore
		}
		if c.NotAfter.Before(to) {
			to = c.NotAfter
		}
	}
	return from, to
}

func hashChain(certs []*x509.Certificate) [sha256.Size]byte {
	if len(certs) == 1 {
		return sha256.Sum256(certs[0].Raw)
	}
	h := sha256.New()
	for _, c := range certs {
		h.Write(c.Raw)
	}
	var key [sha256.Size]byte
	h.Sum(key[:0])
	return key
}

func describeCertificate(c *x509.Certificate) string {
	return fmt.Sprintf("SN=%d, SKID=%s, AKID=%s", c.SerialNumber, hex.EncodeToString(c.SubjectKeyId),
		hex.EncodeToString(c.AuthorityKeyId))
}

// X509 authenticates requests by their client certificate. The common name is the user name, each organization
// a group. If uids is set, the attribute uidOID is the UID.
func X509(bundle *CABundle, uids bool) Request {
	v := &certificateVerifier{bundle: bundle}
	v.known.limit = maxKnownCertificates
	userOf := func(c *x509.Certificate) (*Response, error) { return certificateUser(c, uids) }
	return RequestFunc(func(r *http.Request) (*Response, error) {
		if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
			return nil, nil
		}
		return v.verify(r.TLS.PeerCertificates, userOf)
	})
}

func certificateUser(c *x509.Certificate, uids bool) (*Response, error) {
	if c.Subject.CommonName == "" {
		return nil, nil
	}
	uid := ""
	if uids {
		var err error
		if uid, err = certificateUID(c); err != nil {
			return nil, err
		}
	}
	sum := sha256.Sum256(c.Raw)
	return &Response{User: &user.Info{
		Name:   c.Subject.CommonName,
		UID:    uid,
		Groups: c.Subject.Organization,
		Extra:  map[string][]string{user.CredentialIDKey: {"X509SHA256=" + hex.EncodeToString(sum[:])}},
	}}, nil
}

func certificateUID(c *x509.Certificate) (string, error) {
	uid := ""
	for _, name := range c.Subject.Names {
		if !name.Type.Equal(uidOID) {
			continue
		}
		text, ok := name.Value.(string)
		switch {
		case !ok:
			return "", fmt.Errorf("unable to parse UID into a string")
		case text == "":
			return "", fmt.Errorf("UID cannot be an empty string")
		case uid != "":
			return "", fmt.Errorf("expected 1 UID, but found multiple")
		}
		uid = text
	}
	return uid, nil
}
