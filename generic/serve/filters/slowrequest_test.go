package filters

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"triplane.dev/generic/base/request"
)

func TestTraceOfSlowRequest(t *testing.T) {
	e := &exchange{}
	e.State.Init(t.Context())
	e.Received, e.AuditIDs[0] = time.Now().Add(-time.Second), "id"
	r := httptest.NewRequest(http.MethodPost, "/api/v1/namespaces/default/pods?x=1", nil)
	r.Header.Set("User-Agent", "me\nTrace[1]: forged")
	if err := e.info.Parse(r.Method, r.URL.Path, r.URL.RawQuery); err != nil {
		t.Fatal(err)
	}
	request.Noted(&e.State, "Object stored in database")
	want := regexp.MustCompile(`^Trace\[\d+\]: "Create" accept:,audit-id:id,client:192\.0\.2\.1:1234,api-group:,api-version:v1,name:,subresource:,` +
		`namespace:default,protocol:HTTP/1\.1,resource:pods,scope:resource,url:/api/v1/namespaces/default/pods,user-agent:me_Trace\[1\]: forged,verb:POST ` +
		`\(\d\d-\w+-\d{4} [\d:.]+\) \(total time: \d+ms\):\n` +
		`Trace\[\d+\]: ---"Object stored in database" 1\d{3}ms \([\d:.]+\)\n` +
		`Trace\[\d+\]: \[[\d.]+s\] \[[\d.]+\S+\] END$`)
	if got := e.trace(r, time.Now()); !want.MatchString(got) {
		t.Errorf("%s\ndoes not match\n%s", got, want)
	}
}

// A method without an API verb is logged unchanged.
func TestTraceOfOtherMethods(t *testing.T) {
	e := &exchange{}
	e.State.Init(t.Context())
	r := httptest.NewRequest(http.MethodOptions, "/api/v1/pods", nil)
	if err := e.info.Parse(r.Method, r.URL.Path, r.URL.RawQuery); err != nil {
		t.Fatal(err)
	}
	if got := e.trace(r, time.Now()); !strings.Contains(got, `: "Options" `) {
		t.Error(got)
	}
}
