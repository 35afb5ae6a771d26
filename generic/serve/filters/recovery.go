package filters

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/serve/requestmetrics"
)

// withPanicRecovery responds 500 if the handler panics, and logs the stack. If the response has started, it aborts
// the connection, so that the client does not take the response for complete. Handlers abort responses with
// http.ErrAbortHandler.
//
// Options: none. Metrics: apiserver_request_terminations_total with code 500, apiserver_request_aborts_total.
// Order: around all filters but the two that it depends on.
func withPanicRecovery(m *requestmetrics.Metrics) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				if cause := recover(); cause != nil {
					recovered(w, r, m, cause)
				} else if e := exchangeOf(r); e.Continues() {
					e.AtEnd(func(cause any) { recovered(w, r, m, cause) })
				}
			}()
			next.ServeHTTP(w, r)
		})
	}
}

// recovered responds to a request whose handler panicked with a cause. It panics if that is not possible.
func recovered(w http.ResponseWriter, r *http.Request, m *requestmetrics.Metrics, cause any) {
	e := exchangeOf(r)
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler { //nolint:errorlint // net/http compares likewise
		if m != nil {
			m.Requests.Aborted(seriesOf(r, &e.info))
		}
		panic(cause)
	}
	klog.ErrorS(fmt.Errorf("panic: %v", cause), "Handler panicked", "method", r.Method, "URI", r.RequestURI,
		"auditID", e.AuditID(), "stack", string(debug.Stack()))
	if m != nil {
		m.Requests.Terminated(seriesOf(r, &e.info), http.StatusInternalServerError)
	}
	if e.hijacked {
		return
	}
	if e.status != 0 {
		panic(http.ErrAbortHandler)
	}
	//nolint:staticcheck // a message of kube-apiserver
	err := apierrors.NewInternalError(errors.New("This request caused apiserver to panic. Look in the logs for details."))
	responsewriters.WriteError(w, r, err)
}
