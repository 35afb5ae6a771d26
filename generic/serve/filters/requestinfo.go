package filters

import (
	"fmt"
	"net/http"
	"strings"

	"triplane/generic/base/request"
)

// RequestInfoOptions is how requests are classified.
type RequestInfoOptions struct {
	// LongRunning reports whether a request has no deadline, as watches, proxies
	// and exec have none; nil means LongRunning of this package.
	LongRunning func(r *http.Request, info *request.Info) bool
}

// withRequestInfo parses method, path and query into the RequestInfo by which all
// later filters and the handlers decide, and classifies the request as long-running
// or not. A path that cannot be parsed is answered 500, as kube-apiserver does.
//
// Options: none. Metrics: none. Order: before all filters that depend on what is
// requested.
func withRequestInfo(o RequestInfoOptions) filter {
	longRunning := o.LongRunning
	if longRunning == nil {
		longRunning = LongRunning
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			if err := e.info.Parse(r.Method, r.URL.Path, r.URL.RawQuery); err != nil {
				internalError(w, r, fmt.Errorf("failed to create RequestInfo: %w", err))
				return
			}
			e.Info = &e.info
			e.longRunning = longRunning(r, &e.info)
			next.ServeHTTP(w, r)
		})
	}
}

// SnapshotPath is where a server hands out snapshots of its embedded store.
const SnapshotPath = "/etcd/snapshot"

// MembersPath is where a server has the members of the cluster of its embedded store.
const MembersPath = "/etcd/members"

// LongRunning reports whether a request has no deadline and is not waited for at
// shutdown: watches, proxies, connections to containers, profiles, and snapshots
// of the store.
func LongRunning(_ *http.Request, info *request.Info) bool {
	if !info.IsResourceRequest {
		return strings.HasPrefix(info.Path, "/debug/pprof/") || info.Path == SnapshotPath
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
