package filters

import (
	"errors"
	"net/http"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/klog/v2"
)

// CrossSiteOptions is what pages of other sites may do.
type CrossSiteOptions struct {
	// RefuseCrossSite refuses what a page of another site asks a browser to change
	// with the certificate that the browser sends by itself.
	RefuseCrossSite bool
}

// withCrossSite refuses requests that a page of another origin has made by a
// browser, and that may change something: other methods than GET, HEAD and OPTIONS,
// and upgrades, to which no rule of browsers applies. A browser shows its certificate
// whoever asks, and a server with a console invites to import one. Browsers say where
// a request comes from in Sec-Fetch-Site (Fetch Metadata), which no page can set, and
// other clients do not send. A request that carries a token was made by somebody who
// knows it, and origins that CORS allows are trusted.
//
// Options: --console. Metrics: none. Order: before authentication, which it protects.
func withCrossSite(o CrossSiteOptions, cors CORSOptions) filter {
	if !o.RefuseCrossSite {
		return nil
	}
	allowed, err := compileOrigins(cors.CORSAllowedOrigins)
	if err != nil {
		klog.ErrorS(err, "No origin is trusted")
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if fromElsewhere(r, allowed) && changes(r) {
				writeStatus(w, r, apierrors.NewForbidden(schema.GroupResource{}, "", errCrossSite))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

var errCrossSite = errors.New("the request was made by a page of another site")

func fromElsewhere(r *http.Request, allowed []*regexp.Regexp) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.Header.Get("Authorization") == "" && !matchesAny(allowed, r.Header.Get("Origin"))
}

func changes(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return httpstream.IsUpgradeRequest(r)
	}
	return true
}
