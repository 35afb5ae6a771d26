package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestIndicatorsWithoutProbes reads /metrics/slis of a server whose health was not requested.
func TestIndicatorsWithoutProbes(t *testing.T) {
	p := newTestServer(t, nil).PrepareRun()
	run(t, p)
	<-p.HooksDone()
	eventually(t, "the result of a check", func() bool {
		w := httptest.NewRecorder()
		p.Handler.NonGoRestfulMux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics/slis", nil))
		return strings.Contains(w.Body.String(), `kubernetes_healthcheck{name="ping",type="readyz"} 1`)
	})
}
