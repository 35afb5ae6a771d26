package filters

import (
	"fmt"
	"net/http"
	"strings"

	"triplane.dev/generic/base/request"
)

// RequestInfoOptions configures the classification of requests.
type RequestInfoOptions struct {
	// LongRunning reports whether a request has no deadline, for example a watch, a proxy or an exec. Nil means
	// LongRunning of this package.
	LongRunning func(r *http.Request, info *request.Info) bool
}

// withRequestInfo parses method, path and query into the RequestInfo, and determines whether the request is
// long-running. It responds 500 if the path cannot be parsed, like kube-apiserver.
//
// Options: none. Metrics: none. Order: before all filters that use the RequestInfo.
func withRequestInfo(o RequestInfoOptions, continues bool) filter {
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
			if continues && e.longRunning && e.isWatch() {
				e.Continuation = &request.Continuation{}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// SnapshotPath is the path of snapshots of the embedded etcd.
const SnapshotPath = "/etcd/snapshot"

// MembersPath is the path of the members of the embedded etcd's cluster.
const MembersPath = "/etcd/members"

// LongRunning reports whether a request has no deadline, and shutdown does not wait for it: watches, proxies,
// connections to containers, profiles, and snapshots of the storage.
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
