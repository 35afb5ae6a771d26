package filters

import (
	"fmt"
	"net/http"
	"strings"

	"triplane/generic/request"
)

// withRequestInfo parses what the request wants.
func withRequestInfo(longRunning func(*http.Request, *request.Info) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			if err := e.info.Parse(r.Method, r.URL.Path, r.URL.RawQuery); err != nil {
				internalError(w, r, fmt.Errorf("failed to create RequestInfo: %v", err))
				return
			}
			e.Info = &e.info
			e.longRunning = longRunning(r, &e.info)
			next.ServeHTTP(w, r)
		})
	}
}

// LongRunning tells the requests that have no deadline and are not waited for:
// watches, proxies, connections to containers, and profiles.
func LongRunning(_ *http.Request, info *request.Info) bool {
	if !info.IsResourceRequest {
		return strings.HasPrefix(info.Path, "/debug/pprof/")
	}
	switch info.Verb {
	case "watch", "proxy":
		return true
	}
	switch info.Subresource {
	case "attach", "exec", "proxy", "log", "portforward":
		return true
	}
	return false
}
