package filters

import (
	"net/http"
	"strings"
	"time"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/serve/requestmetrics"
)

// withMetrics counts requests and measures their durations and the sizes of their responses.
//
// Options: none. Metrics: apiserver_request_total, apiserver_request_duration_seconds,
// apiserver_request_sli_duration_seconds, apiserver_response_sizes, apiserver_longrunning_requests,
// triplane_chain_requests_total, triplane_chain_request_duration_seconds, apiserver_selfrequest_total,
// apiserver_request_body_size_bytes, field_validation_request_duration_seconds,
// apiserver_requested_deprecated_apis. Order: after requestInfo, which provides the labels; before all filters
// that respond.
func withMetrics(m *requestmetrics.Metrics) filter {
	if m == nil {
		return nil
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			if authentication.IsLoopback(r.Context()) {
				m.Requests.Self(seriesOf(r, &e.info))
			}
			panicked := true
			defer func() {
				if !e.Continues() {
					e.observe(m, r, panicked)
					return
				}
				e.AtEnd(func(cause any) { e.observe(m, r, cause != nil) })
			}()
			if e.longRunning {
				e.OnServed = func() { m.Requests.LongRunning(seriesOf(r, &e.info)).Inc() }
			}
			next.ServeHTTP(w, r)
			panicked = false
		})
	}
}

// observe counts a request that has ended.
func (e *exchange) observe(m *requestmetrics.Metrics, r *http.Request, panicked bool) {
	series := seriesOf(r, &e.info)
	if e.longRunning && e.Served() {
		m.Requests.LongRunning(series).Dec()
	}
	code := e.status
	switch {
	case code != 0:
	case panicked:
		code = http.StatusInternalServerError // withPanicRecovery responds so
	default:
		code = http.StatusOK // net/http responds so
	}
	took := time.Since(e.Received)
	m.Chain.Observe(e.Server, code, took, e.longRunning)
	m.Requests.Observe(&requestmetrics.Done{
		Series: series, Known: e.Served(), Code: code, Bytes: e.bytes, Duration: took, Outside: e.Outside(),
		DryRun: isDryRun(r, &e.info), LongRunning: e.longRunning,
		Body: r.ContentLength, Validation: fieldValidation(r, &e.info), Deprecation: e.Deprecation,
	})
}

// seriesOf returns the labels of a request.
func seriesOf(r *http.Request, info *request.Info) requestmetrics.Series {
	if !info.IsResourceRequest {
		return requestmetrics.OfPath(methodVerb(r.Method), info.Path)
	}
	s := requestmetrics.Series{
		Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource, Subresource: info.Subresource,
		Scope: info.Scope(),
	}
	switch info.Verb {
	case "list":
		s.Verb = "LIST"
	case "watch":
		s.Verb = "WATCH"
	case "patch":
		s.Verb = "PATCH"
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch+") {
			s.Verb = "APPLY"
		}
	case "proxy":
		s.Verb = "CONNECT"
	default:
		s.Verb = methodVerb(r.Method)
	}
	switch info.Subresource {
	case "exec", "attach", "portforward", "proxy", "log":
		s.Verb = "CONNECT"
	}
	return s
}

// methodVerb maps HEAD to GET, and unknown methods to other, so that clients cannot create label values.
func methodVerb(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodConnect:
		return method
	case http.MethodHead:
		return http.MethodGet
	}
	return "other"
}

func isDryRun(r *http.Request, info *request.Info) bool {
	switch info.Verb {
	case "get", "list", "watch":
		return false
	}
	v, _ := request.QueryValue(r.URL.RawQuery, "dryRun")
	return v == "All"
}

// fieldValidation returns the fieldValidation mode of a write; "" for other requests.
func fieldValidation(r *http.Request, info *request.Info) string {
	switch info.Verb {
	case "create", "update", "patch":
		switch v, _ := request.QueryValue(r.URL.RawQuery, "fieldValidation"); v {
		case "Strict", "Ignore":
			return v
		}
		return "Warn"
	}
	return ""
}
