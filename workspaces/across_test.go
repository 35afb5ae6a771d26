package workspaces

import (
	"encoding/json"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The server's annotation replaces a stored one, and nothing else changes.
func TestAnnotated(t *testing.T) {
	for _, c := range []struct{ object, want string }{
		{`{"metadata":{"name":"x"},"n":9007199254740993}`,
			`{"metadata":{"annotations":{"workspaces.triplane.dev/workspace":"w"},"name":"x"},"n":9007199254740993}`},
		{`{"metadata":{"annotations":null}}`, `{"metadata":{"annotations":{"workspaces.triplane.dev/workspace":"w"}}}`},
		{`{"metadata":{"annotations":{"a":"b","workspaces.triplane.dev/workspace":"forged"}}}`,
			`{"metadata":{"annotations":{"a":"b","workspaces.triplane.dev/workspace":"w"}}}`},
	} {
		got, err := annotated(json.RawMessage(c.object), "w")
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v", c.object, got, err)
		}
	}
}

func TestPositions(t *testing.T) {
	p := position{Revision: 7, Workspace: "a", Continue: "x"}
	if got, err := parsePosition(p.token()); err != nil || got != p {
		t.Errorf("got %v, %v", got, err)
	}
	for _, token := range []string{"x", "e30x", "!"} {
		if _, err := parsePosition(token); !apierrors.IsBadRequest(err) {
			t.Errorf("%q: %v", token, err)
		}
	}
}
