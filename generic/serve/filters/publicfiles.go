package filters

import (
	"net/http"
	"strings"
	"time"
)

// PublicFilesOptions is which files need no user.
type PublicFilesOptions struct {
	// PublicFiles answers GET and HEAD below PublicPrefixes, each of which ends in "/",
	// to whoever asks. It must hold nothing but files of the program. Nil has none.
	PublicFiles    http.Handler
	PublicPrefixes []string
}

const (
	// publicAtOnce bounds how many public files are served at the same time, without those
	// whose responses wait for their clients: unauthenticated clients may not occupy more of the server.
	publicAtOnce = 64
	// publicWaits is how long a request for a public file waits for one of these places before it is rejected with 429.
	publicWaits = time.Second
)

// withPublicFiles answers with files that everybody may have: a browser that opens a
// page has no way to send a token with it, and what the page shows it asks for as its
// user. Files are answered without waiting for what identifies users, which may be
// far away or broken.
//
// Options: --console. Metrics: those of withMetrics. Order: before authentication;
// behind deadline, hsts, waitGroup and auditRecord, which hold for files as well.
func withPublicFiles(o PublicFilesOptions) filter {
	if o.PublicFiles == nil {
		return nil
	}
	files := &lane{limit: publicAtOnce, left: make(chan struct{}, 1)}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !o.Covers(r.Method, r.URL.Path) {
				next.ServeHTTP(w, r)
				return
			}
			e := exchangeOf(r)
			e.auditUnauthenticated(r)
			if !e.occupyWithin(r.Context(), files, publicWaits) {
				w.Header().Set("Retry-After", "1")
				http.Error(w, "too many requests, please try again later", http.StatusTooManyRequests)
				return
			}
			defer e.release()
			o.PublicFiles.ServeHTTP(w, r)
		})
	}
}

// Covers reports whether a path is that of public files.
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
