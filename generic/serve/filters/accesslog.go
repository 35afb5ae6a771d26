package filters

import (
	"net/http"
	"time"

	"k8s.io/klog/v2"
)

// accessLogLevel is the lowest verbosity (-v) at which requests are logged.
const accessLogLevel = 3

// withAccessLog logs each completed request in kube-apiserver's format: user agent, verb, URI, latency and status.
//
// Options: -v=3. Metrics: none. Order: after requestInfo, which provides the verb; before all filters that
// respond.
func withAccessLog(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !klog.V(accessLogLevel).Enabled() {
			next.ServeHTTP(w, r)
			return
		}
		e := exchangeOf(r)
		verb := seriesOf(r, &e.info).Verb
		defer e.AtEnd(func(any) { klog.InfoS("HTTP", e.accessLog(r, verb)...) })
		next.ServeHTTP(w, r)
	})
}

// accessLog returns the log line of a completed request as keys and values.
func (e *exchange) accessLog(r *http.Request, verb string) []any {
	line := []any{
		"verb", verb, "URI", r.RequestURI, "latency", time.Since(e.Received), "userAgent", r.UserAgent(),
		"audit-ID", e.AuditID(), "srcIP", r.RemoteAddr,
	}
	if flow, ok := e.first.Account(); ok {
		line = append(line, "apf_pl", flow.Level, "apf_fs", flow.Schema,
			"apf_iseats", flow.Seats, "apf_fseats", flow.FinalSeats,
			"apf_additionalLatency", flow.Waited)
		if !flow.Started.IsZero() {
			line = append(line, "apf_execution_time", time.Since(flow.Started))
		}
	}
	if e.hijacked {
		line = append(line, "hijacked", true)
	}
	return append(line, "resp", e.status)
}
