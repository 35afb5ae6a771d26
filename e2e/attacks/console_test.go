package attacks

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// Tokens for pages of the console. The attacker, who has one, or had the rights to get one, would go on as that user
// for ever: by asking for the next as oneself, or after the service account is gone.
func TestTokensOfTheConsole(t *testing.T) {
	s := start(t)
	account := s.writer()
	as := func(method, path, token, more string) (int, string) {
		code, body, err := s.ask(method+" "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\nAuthorization: Bearer "+token+"\r\n"+more+"\r\n", generous)
		if err != nil {
			t.Fatal(err)
		}
		return code, body
	}
	const path = "/debug/console/token"
	code, body := as("POST", path, account, "")
	var page struct{ Token string }
	if err := json.Unmarshal([]byte(body), &page); err != nil || code != http.StatusCreated {
		t.Fatalf("%d %s", code, body)
	}
	for name, more := range map[string]string{
		"by itself":   "",
		"as its user": "Impersonate-User: system:serviceaccount:default:writer\r\n",
		"as another":  "Impersonate-User: mallory\r\nImpersonate-Group: system:masters\r\n",
	} {
		if code, body := as("POST", path, page.Token, more); code != http.StatusForbidden {
			t.Errorf("the token is prolonged %s: %d %s", name, code, body)
		}
	}
	if code, body := as("GET", "/api/v1/namespaces", page.Token, ""); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	s.Kubectl(t, "delete", "serviceaccount", "writer")
	s.eventually("the token has ended", 10*time.Second, func() bool {
		code, _ := as("GET", "/api/v1/namespaces", page.Token, "")
		return code == http.StatusUnauthorized
	})
}
