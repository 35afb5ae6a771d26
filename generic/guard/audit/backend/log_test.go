package backend

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/guard/audit"
)

type buffer struct{ bytes.Buffer }

func (*buffer) Close() error { return nil }

type broken struct{ io.Writer }

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }
func (broken) Close() error              { return nil }

func TestLogFormats(t *testing.T) {
	at := metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC))
	bare := &audit.Event{AuditID: "1", Stage: audit.StageRequestReceived, Verb: "get", RequestURI: "/x", RequestReceivedTimestamp: at}
	full := &audit.Event{AuditID: "2", Stage: audit.StageResponseComplete, Verb: "get", RequestURI: "/y\n", RequestReceivedTimestamp: at,
		SourceIPs: []string{"10.0.0.1", "10.0.0.2"}, UserAgent: `a"b`, User: authenticationv1.UserInfo{Username: "u", Groups: []string{"a", "b"}},
		ImpersonatedUser: &authenticationv1.UserInfo{Username: "v", Groups: []string{"c"}}, ObjectRef: &audit.ObjectReference{Namespace: "n"},
		ResponseStatus: &metav1.Status{Code: 200}}
	for format, want := range map[string]string{
		FormatLegacy: `2026-01-02T03:04:05.000006Z AUDIT: id="1" stage="RequestReceived" ip="<unknown>" method="get" user="<none>" groups="<none>" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" uri="/x" response="<deferred>"
2026-01-02T03:04:05.000006Z AUDIT: id="2" stage="ResponseComplete" ip="10.0.0.1" method="get" user="u" groups="\"a\",\"b\"" as="v" asgroups="\"c\"" user-agent="a\"b" namespace="n" uri="/y\n" response="200"
`,
		FormatJSON: `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"","auditID":"1",`,
	} {
		var out buffer
		l := NewLog(&out, format, nil)
		if !l.Process(bare, full) {
			t.Errorf("%s: not stored", format)
		}
		l.Close(context.Background())
		if !strings.HasPrefix(out.String(), want) || strings.Count(out.String(), "\n") != 2 {
			t.Errorf("%s: %s", format, out.String())
		}
	}
}

func TestLogFails(t *testing.T) {
	m := metrics.New()
	if NewLog(broken{}, FormatJSON, audit.NewMetrics(m)).Process(event("1"), event("2")) {
		t.Error("stored on a full disk")
	}
	if got := failed(t, m, "log"); got != 2 {
		t.Errorf("%v failures", got)
	}
}
