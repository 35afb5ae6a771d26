package webhook

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestClientConfig(t *testing.T) {
	endpoint := func(port int32, urlPath string) field.ErrorList {
		return ValidateEndpoint(&port, &urlPath, field.NewPath("service"))
	}
	for _, c := range []struct {
		name string
		errs field.ErrorList
		want []string // parts of the errors, in order
	}{
		{"url", ValidateURL("https://host:1/p", nil), nil},
		{"no url", ValidateURL("https://%", nil), []string{"must be a valid URL"}},
		{"all that a URL may not have", ValidateURL("http://u@/?a=b#c", nil), []string{"only allowed URL scheme", "host must", "user information", "fragments", "query parameters"}},
		{"defaults", ValidateEndpoint(nil, nil, nil), nil},
		{"endpoint", endpoint(443, "/a/b.c/"), nil},
		{"port", endpoint(0, "/"), []string{"service.port: Invalid value: 0: port is not valid"}},
		{"two slashes", endpoint(1, "//"), []string{"segment[0] may not be empty"}},
		{"empty segment", endpoint(1, "/a//b"), []string{"segment[1] may not be empty"}},
		{"relative", endpoint(1, "a/B"), []string{"must start with a '/'", "segment[0] may not be empty", "segment[1]: a lowercase RFC 1123"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if len(c.errs) != len(c.want) {
				t.Fatalf("%v", c.errs)
			}
			for i, part := range c.want {
				if !strings.Contains(c.errs[i].Error(), part) {
					t.Errorf("%v, want %s", c.errs[i], part)
				}
			}
		})
	}
}
