package serviceaccount

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"

	"github.com/go-jose/go-jose/v4/jwt"
	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication"
)

// acceptLegacy authenticates a token from a Secret. It is valid as long as the Secret contains it.
func (a *Authenticator) acceptLegacy(ctx context.Context, token string, t *verifiedToken) (*authentication.Response,
	error) {
	c := t.legacy
	// A token without an audience is for the API server.
	offered := []string(c.Audience)
	if len(offered) == 0 {
		offered = a.config.Audiences
	}
	audiences, err := a.audiences(ctx, offered)
	if err != nil {
		return nil, err
	}
	if err := a.checkTimes(&c.Claims); err != nil {
		return nil, err
	}
	switch {
	case c.Subject == "" || c.Subject != user.ServiceAccountName(c.Namespace, c.Account):
		return nil, errors.New("sub claim is invalid")
	case c.Namespace == "" || c.Secret == "" || c.Account == "" || c.UID == "":
		return nil, errors.New("claims are missing from the service account token")
	}
	if a.config.Lookup {
		if err := a.lookupLegacy(ctx, c, token); err != nil {
			return nil, err
		}
	}
	return &authentication.Response{Audiences: audiences, User: &user.Info{
		Name:   c.Subject,
		UID:    c.UID,
		Groups: []string{user.AllServiceAccounts, user.ServiceAccountGroup + c.Namespace},
	}, Annotations: map[string]string{"authentication.k8s.io/legacy-token": c.Subject}}, nil
}

func (a *Authenticator) lookupLegacy(ctx context.Context, c *legacyClaims, token string) error {
	secret, err := a.config.Getter.GetSecret(ctx, c.Namespace, c.Secret)
	if err != nil {
		return errInvalidated
	}
	if secret.DeletionTimestamp != nil || subtle.ConstantTimeCompare(secret.Data["token"], []byte(token)) != 1 {
		return errInvalidated
	}
	account, err := a.config.Getter.GetServiceAccount(ctx, c.Namespace, c.Account)
	if err != nil {
		return err
	}
	if account.DeletionTimestamp != nil || string(account.UID) != c.UID {
		return errInvalidated
	}
	return a.recordUse(ctx, secret, account)
}

// IssueLegacy signs a token for a Secret of a service account. It is valid as long as the Secret contains it. The URL
// of the issuer is the LegacyIssuer of authenticators.
func IssueLegacy(ctx context.Context, issuer *Issuer, account *corev1.ServiceAccount, secret string) (string,
	error) {
	c, err := json.Marshal(legacyClaims{
		Claims:  jwt.Claims{Issuer: issuer.url, Subject: user.ServiceAccountName(account.Namespace, account.Name)},
		Account: account.Name, UID: string(account.UID), Secret: secret, Namespace: account.Namespace,
	})
	if err != nil {
		return "", err
	}
	return issuer.signer.Sign(ctx, c)
}
