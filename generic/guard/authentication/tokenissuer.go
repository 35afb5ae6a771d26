package authentication

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// TokenIssuer returns the claim "iss" of a JWT in compact form without verifying it, or "" for any other token.
func TokenIssuer(token string) string {
	_, rest, _ := strings.Cut(token, ".")
	body, signature, ok := strings.Cut(rest, ".")
	if !ok || strings.Contains(signature, ".") {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return ""
	}
	var c struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(raw, &c) != nil {
		return ""
	}
	return c.Issuer
}
