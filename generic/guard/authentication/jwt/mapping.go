package jwt

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"

	"triplane.dev/generic/base/egress"
	"triplane.dev/generic/base/user"
)

// rules are the compiled form of an Authenticator.
type rules struct {
	issuer Issuer
	roots  *x509.CertPool // nil means the system's
	dial   egress.Dial    // nil connects directly
	// algorithms are the allowed signature algorithms; nil allows allAlgorithms.
	algorithms []string

	required   []requiredClaim
	claimRules []rule
	username   source
	groups     source
	uid        source
	extra      []extraRule
	userRules  []rule
}

type requiredClaim struct{ claim, value string }

// rule is an expression that must be true, with the error message otherwise.
type rule struct {
	expression *expression
	message    string
}

// source is the source of a user's attribute. The zero source has none.
type source struct {
	claim, prefix string
	expression    *expression
}

type extraRule struct {
	key   string
	value *expression
}

// user validates the claims of a verified token and maps them to a user.
func (r *rules) user(ctx context.Context, claims map[string]any) (*user.Info, error) {
	if err := r.checkClaims(ctx, claims); err != nil {
		return nil, err
	}
	u := &user.Info{}
	var err error
	if u.Name, err = r.userName(ctx, claims); err != nil {
		return nil, err
	}
	if u.Groups, err = r.userGroups(ctx, claims); err != nil {
		return nil, fmt.Errorf("oidc: groups: %w", err)
	}
	if u.UID, err = r.uid.text(ctx, claims); err != nil {
		return nil, fmt.Errorf("oidc: uid: %w", err)
	}
	if u.Extra, err = r.userExtra(ctx, claims); err != nil {
		return nil, err
	}
	return u, r.checkUser(ctx, u)
}

func (r *rules) checkClaims(ctx context.Context, claims map[string]any) error {
	for _, c := range r.required {
		value, ok := claims[c.claim]
		if !ok {
			return fmt.Errorf("oidc: required claim %s not present in ID token", c.claim)
		}
		if text, ok := value.(string); !ok || text != c.value {
			return fmt.Errorf("oidc: required claim %s value does not match", c.claim)
		}
	}
	return checkRules(ctx, r.claimRules, claims)
}

func checkRules(ctx context.Context, list []rule, value any) error {
	for _, c := range list {
		ok, err := c.expression.holds(ctx, value)
		if err != nil {
			return fmt.Errorf("oidc: validation expression %q failed: %w", c.expression.source, err)
		}
		if !ok && c.message != "" {
			return fmt.Errorf("oidc: validation expression %q failed: %s", c.expression.source, c.message)
		}
		if !ok {
			return fmt.Errorf("oidc: validation expression %q failed", c.expression.source)
		}
	}
	return nil
}

func (r *rules) userName(ctx context.Context, claims map[string]any) (string, error) {
	// An email address that the issuer has not verified may belong to another user.
	if r.username.claim == "email" {
		if verified, has := claims["email_verified"]; has && verified != true {
			return "", errors.New("oidc: email not verified")
		}
	}
	name, err := r.username.text(ctx, claims)
	if err != nil {
		return "", fmt.Errorf("oidc: username: %w", err)
	}
	if r.username.expression != nil && name == "" {
		return "", errors.New("oidc: username is empty")
	}
	return name, nil
}

// text returns the value of a string attribute, or "" without a source.
func (s *source) text(ctx context.Context, claims map[string]any) (string, error) {
	switch {
	case s.expression != nil:
		return s.expression.text(ctx, claims)
	case s.claim == "":
		return "", nil
	}
	value, ok := claims[s.claim]
	if !ok {
		return "", fmt.Errorf("claim %q is not present", s.claim)
	}
	text, ok := textOf(value)
	if !ok {
		return "", fmt.Errorf("claim %q is not a string", s.claim)
	}
	return s.prefix + text, nil
}

// textOf returns the string that a JSON value is; null is "".
func textOf(value any) (string, bool) {
	text, ok := value.(string)
	return text, ok || value == nil
}

func (r *rules) userGroups(ctx context.Context, claims map[string]any) ([]string, error) {
	s := &r.groups
	if s.expression != nil {
		return s.expression.texts(ctx, claims)
	}
	if s.claim == "" || claims[s.claim] == nil {
		return nil, nil
	}
	var groups []string
	switch value := claims[s.claim].(type) {
	case string:
		groups = []string{value}
	case []any:
		for _, v := range value {
			text, ok := textOf(v)
			if !ok {
				return nil, errNotStrings
			}
			groups = append(groups, text)
		}
	default:
		return nil, fmt.Errorf("claim %q is neither a string nor a list of strings", s.claim)
	}
	for i := range groups {
		groups[i] = s.prefix + groups[i]
	}
	return groups, nil
}

func (r *rules) userExtra(ctx context.Context, claims map[string]any) (map[string][]string, error) {
	var extra map[string][]string
	set := func(key string, values []string) {
		if extra == nil {
			extra = map[string][]string{}
		}
		extra[key] = values
	}
	for _, e := range r.extra {
		values, err := e.value.texts(ctx, claims)
		if err != nil {
			return nil, fmt.Errorf("oidc: extra %s: %w", e.key, err)
		}
		if len(values) > 0 {
			set(e.key, values)
		}
	}
	if id, ok := claims["jti"].(string); ok && id != "" {
		set(user.CredentialIDKey, []string{"JTI=" + id})
	}
	return extra, nil
}

func (r *rules) checkUser(ctx context.Context, u *user.Info) error {
	if len(r.userRules) == 0 {
		return nil
	}
	extra := u.Extra
	if extra == nil {
		extra = map[string][]string{}
	}
	// All fields are there, even if they are empty.
	return checkRules(ctx, r.userRules, map[string]any{"username": u.Name, "uid": u.UID, "groups": u.Groups,
		"extra": extra})
}
