package tracing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoadRejects(t *testing.T) {
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: Pod":              "expected kind TracingConfiguration",
		head + "rate: 1":                         "unknown field",
		head + "samplingRatePerMillion: -1":      "must be between 0 and 1000000",
		head + "samplingRatePerMillion: 1000001": "must be between 0 and 1000000",
		head + "endpoint: ''":                    "must be HOST:PORT",
		head + "endpoint: a b":                   "must be HOST:PORT",
	} {
		file := filepath.Join(t.TempDir(), "tracing.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(t.Context(), file, "me"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if p, err := Load(t.Context(), "", "me"); p != nil || err != nil {
		t.Errorf("%v, %v without a file", p, err)
	}
}
