package serviceaccount

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	jose "github.com/go-jose/go-jose/v4"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/base/routes"
)

// Paths of the OpenID Connect discovery documents.
const (
	ConfigurationPath = "/.well-known/openid-configuration"
	JWKSPath          = "/openid/v1/jwks"
)

// Discovery renders the two OpenID Connect documents of an issuer from its current keys.
type Discovery struct {
	issuer, jwksURI string
	keys            Keys
}

// NewDiscovery returns the documents of an issuer. jwksURI is the URL of the keys; "" means JWKSPath at
// externalAddress (host:port). It returns an error if the issuer is not an https URL, as discovery requires.
func NewDiscovery(issuer, jwksURI, externalAddress string, keys Keys) (*Discovery, error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, fmt.Errorf("issuer URL is invalid: %w", err)
	}
	if u.Scheme != "https" {
		return nil, fmt.Errorf("issuer URL must use https scheme, got: %s", issuer)
	}
	if u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("issuer URL may not include a user, query or fragment: %s", issuer)
	}
	if jwksURI == "" {
		jwksURI = (&url.URL{Scheme: "https", Host: externalAddress, Path: JWKSPath}).String()
	}
	d := &Discovery{issuer: issuer, jwksURI: jwksURI, keys: keys}
	_, err = d.Configuration()
	return d, err
}

// JWKS returns the JSON Web Key Set.
func (d *Discovery) JWKS() ([]byte, error) {
	set, _, err := keySet(d.keys.All())
	if err != nil {
		return nil, err
	}
	return json.Marshal(set)
}

// Configuration returns the discovery document.
func (d *Discovery) Configuration() ([]byte, error) {
	_, algs, err := keySet(d.keys.All())
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Issuer        string   `json:"issuer"`
		JWKSURI       string   `json:"jwks_uri"`
		ResponseTypes []string `json:"response_types_supported"`
		SubjectTypes  []string `json:"subject_types_supported"`
		SigningAlgs   []string `json:"id_token_signing_alg_values_supported"`
	}{d.issuer, d.jwksURI, []string{"id_token"}, []string{"public"}, algs})
}

// keySet returns the published keys without duplicates, and their algorithms in order.
func keySet(keys []PublicKey) (jose.JSONWebKeySet, []string, error) {
	var set jose.JSONWebKeySet
	var algs []string
	seen := map[string]bool{}
	for _, k := range keys {
		alg, err := algorithm(k.Key)
		if err != nil {
			return set, nil, err
		}
		if seen[k.ID] || k.Unpublished {
			continue
		}
		seen[k.ID] = true
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.Key, KeyID: k.ID, Algorithm: string(alg), Use: "sig"})
		algs = append(algs, string(alg))
	}
	slices.Sort(algs)
	return set, slices.Compact(algs), nil
}

// Services returns the services of the two documents.
func (d *Discovery) Services() []routes.Service {
	return []routes.Service{
		document(ConfigurationPath, "getServiceAccountIssuerOpenIDConfiguration",
			"get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'", runtime.ContentTypeJSON,
			d.Configuration),
		document(JWKSPath, "getServiceAccountIssuerOpenIDKeyset",
			"get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
			"application/jwk-set+json", d.JWKS),
	}
}

func document(path, operation, doc, mime string, render func() ([]byte, error)) *routes.Document {
	return &routes.Document{
		Path: path, Produces: []string{mime}, Doc: doc, Operation: operation, Sample: "",
		Handler: func(w http.ResponseWriter, _ *http.Request) {
			body, err := render()
			if err != nil {
				http.Error(w, "the keys cannot be shown", http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", mime)
			w.Header().Set("Cache-Control", "public, max-age=3600")
			_, _ = w.Write(body) // fails if the client has disconnected
		},
	}
}
