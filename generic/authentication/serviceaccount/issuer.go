package serviceaccount

import (
	"crypto"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"
)

// Issuer signs tokens. It is safe for concurrent use.
type Issuer struct {
	url    string
	signer jose.Signer
	now    func() time.Time
}

// NewIssuer returns an issuer that signs in the name of url.
func NewIssuer(url string, key crypto.Signer) (*Issuer, error) {
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
	if err != nil {
		return nil, err
	}
	return &Issuer{url: url, signer: signer, now: time.Now}, nil
}

// Issue signs a token; id is its JWT ID, for the audit log.
func (i *Issuer) Issue(r Request) (token, id string, err error) {
	id = uuid.NewString()
	token, err = jwt.Signed(i.signer).Claims(r.claims(i.url, id, i.now())).Serialize()
	return token, id, err
}
