package attacks

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

// legacy is a Secret that the controller puts a token for a service account in, and
// that says to have one.
const legacy = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: legacy, namespace: default}
---
apiVersion: v1
kind: Secret
metadata: {name: %s, namespace: default, annotations: {kubernetes.io/service-account.name: legacy}}
type: kubernetes.io/service-account-token
`

// Tokens of Secrets are used after they were invalidated, or after their Secret went
// or got another token. The attacker, who found an old token, would keep its rights
// for ever.
func TestLegacyTokens(t *testing.T) {
	s := start(t, "--controllers=serviceaccount-token-controller")
	tokens := map[string]string{}
	for _, name := range []string{"first", "second", "third"} {
		s.apply(strings.Replace(legacy, "%s", name, 1))
		s.eventually("the Secret has a token", generous, func() bool {
			raw, err := base64.StdEncoding.DecodeString(s.Kubectl(t, "get", "secret", name, "-o",
				"jsonpath={.data.token}"))
			tokens[name] = string(raw)
			return err == nil && len(raw) > 0
		})
		if code := s.bearing(tokens[name], ""); code != http.StatusOK {
			t.Fatalf("the token of %s: %d", name, code)
		}
	}
	s.eventually("the use of a token is recorded, so that no cleaner takes it", generous, func() bool {
		return s.Kubectl(t, "get", "secret", "first", "-o", `jsonpath={.metadata.labels.kubernetes\.io/legacy-token-last-used}`) != ""
	})
	s.Kubectl(t, "label", "secret", "first", "kubernetes.io/legacy-token-invalid-since=2020-01-01")
	s.Kubectl(t, "patch", "secret", "second", "-p",
		`{"data":{"token":"`+base64.StdEncoding.EncodeToString([]byte(tokens["third"]))+`"}}`)
	s.Kubectl(t, "delete", "secret", "third")
	for name, token := range tokens {
		s.eventually("the token of "+name+" is refused", generous,
			func() bool { return s.bearing(token, "") == http.StatusUnauthorized })
	}
}

// A server that allows everything is asked by somebody without credentials. The
// attacker would be its administrator.
func TestAlwaysAllow(t *testing.T) {
	s := start(t, "--authorization-mode=AlwaysAllow")
	for _, path := range []string{"/api/v1/secrets", "/version", "/livez"} {
		code, body, err := s.ask("GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", generous)
		if err != nil || code != http.StatusUnauthorized {
			t.Errorf("%s: %d %s, %v", path, code, body, err)
		}
	}
}
