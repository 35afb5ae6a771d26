package audit

import (
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Size counts every field whose length clients control, because it limits buffers.
func TestSizeCountsClientInput(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	many := strings.Split(strings.Repeat("10.0.0.1,", 1<<17), ",") // what X-Forwarded-For may hold
	user := func(u authenticationv1.UserInfo) *Event { return &Event{ImpersonatedUser: &u} }
	for name, e := range map[string]*Event{
		"source addresses":      {SourceIPs: many},
		"user":                  {User: authenticationv1.UserInfo{Username: long}},
		"groups":                {User: authenticationv1.UserInfo{Groups: many}},
		"impersonated user":     user(authenticationv1.UserInfo{Username: long}),
		"impersonated UID":      user(authenticationv1.UserInfo{UID: long}),
		"impersonated groups":   user(authenticationv1.UserInfo{Groups: many}),
		"impersonated extra":    user(authenticationv1.UserInfo{Extra: map[string]authenticationv1.ExtraValue{"key": many}}),
		"keys of extra":         user(authenticationv1.UserInfo{Extra: map[string]authenticationv1.ExtraValue{long: nil}}),
		"message of the answer": {ResponseStatus: &metav1.Status{Message: long}},
		"method":                {Verb: long},
		"URI":                   {RequestURI: long},
		"object":                {RequestObject: []byte(`"` + long + `"`)},
		"annotation":            {Annotations: map[string]string{"key": long}},
	} {
		b, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if e.Size() < len(b) {
			t.Errorf("%s: %d bytes count as %d", name, len(b), e.Size())
		}
	}
}
