package filters

import (
	"net/http"
	"strings"
	"time"
)

// PublicFilesOptions configures the files that need no authentication.
type PublicFilesOptions struct {
	// PublicFiles responds to GET and HEAD below PublicPrefixes without authentication. Each prefix ends in "/".
	// It must serve nothing but files of the program. Nil serves none.
	PublicFiles    http.Handler
	PublicPrefixes []string
}

const (
	// publicAtOnce bounds the public files that are served concurrently, without responses that wait for slow
	// clients. It limits what unauthenticated clients can occupy.
	publicAtOnce = 64
	// publicWaits bounds the time that a request waits for one of these places before it is rejected with 429.
	publicWaits = time.Second
)

// withPublicFiles serves files without authentication. A browser that opens a page cannot send a token; the page's
// own requests are authenticated. Files do not wait for authenticators, which may be slow or unavailable.
//
// Options: --console. Metrics: those of withMetrics. Order: before authentication; after deadline, hsts, waitGroup
// and auditRecord, which apply to files as well.
func withPublicFiles(o PublicFilesOptions) filter {
	if o.PublicFiles == nil {
		return nil
	}
	files := &limiter{limit: publicAtOnce, freed: make(chan struct{}, 1)}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			if e.Workspace != "" || !o.Covers(r.Method, r.URL.Path) {
				next.ServeHTTP(w, r)
				return
			}
			e.auditUnauthenticated(r)
			if !e.occupyWithin(r.Context(), files, publicWaits) {
				w.Header().Set("Retry-After", "1")
				http.Error(w, "too many requests, please try again later", http.StatusTooManyRequests)
				return
			}
			defer e.Release()
			o.PublicFiles.ServeHTTP(w, r)
		})
	}
}

// Covers reports whether a request is for a public file.
func (o *PublicFilesOptions) Covers(method, path string) bool {
	if o.PublicFiles == nil || method != http.MethodGet && method != http.MethodHead {
		return false
	}
	for _, prefix := range o.PublicPrefixes {
		if strings.HasPrefix(path, prefix) || len(path) == len(prefix)-1 && strings.HasPrefix(prefix, path) {
			return true
		}
	}
	return false
}
