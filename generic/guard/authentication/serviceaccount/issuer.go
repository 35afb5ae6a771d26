package serviceaccount

import (
	"context"
	"crypto"
	"encoding/json"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
)

// Signer signs claims as a JSON Web Token in compact form.
type Signer interface {
	Sign(ctx context.Context, claims []byte) (token string, err error)
}

// Issuer issues tokens. It is safe for concurrent use.
type Issuer struct {
	url    string
	signer Signer
	now    func() time.Time
}

// NewIssuer returns an issuer with the given URL.
func NewIssuer(url string, signer Signer) *Issuer {
	return &Issuer{url: url, signer: signer, now: time.Now}
}

// Issue signs a token. id is its JWT ID, for the audit log.
func (i *Issuer) Issue(ctx context.Context, r Request) (token, id string, err error) {
	id = uuid.NewString()
	claims, err := json.Marshal(issued{claims: r.claims(i.url, id, i.now()), Audience: r.Audiences})
	if err != nil {
		return "", "", err
	}
	token, err = i.signer.Sign(ctx, claims)
	return token, id, err
}

// keySigner signs with a private key in memory.
type keySigner struct{ signer jose.Signer }

// NewSigner returns a signer for an RSA or ECDSA key.
func NewSigner(key crypto.Signer) (Signer, error) {
	alg, err := algorithm(key.Public())
	if err != nil {
		return nil, err
	}
	id, err := keyID(key.Public())
	if err != nil {
		return nil, err
	}
	signer, err := jose.NewSigner(jose.SigningKey{
		Algorithm: alg,
		Key:       jose.JSONWebKey{Algorithm: string(alg), Key: key, KeyID: id, Use: "sig"},
	}, nil)
	return keySigner{signer}, err
}

// Sign implements Signer.
func (s keySigner) Sign(_ context.Context, claims []byte) (string, error) {
	signed, err := s.signer.Sign(claims)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}
