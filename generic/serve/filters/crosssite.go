package filters

import (
	"errors"
	"net/http"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/handlers/responsewriters"
)

// CrossSiteOptions protects against cross-site requests.
type CrossSiteOptions struct {
	// RejectCrossSite rejects mutating requests from pages of other sites. Browsers attach client certificates to
	// them.
	RejectCrossSite bool
	// SandboxProxied sandboxes proxied pages of pods, services, nodes and aggregated API servers in browsers.
	// Otherwise they share the origin of the console.
	SandboxProxied bool
}

// withCrossSite rejects mutating requests from pages of other origins in a browser: methods other than GET, HEAD
// and OPTIONS, and upgrades, to which CORS does not apply. A browser attaches its client certificate to such
// requests, and users of the console import one.
//
// Browsers send the origin in Sec-Fetch-Site (Fetch Metadata), which pages cannot set and other clients do not
// send. Requests with a token are allowed, because the page must have the token. Origins that CORS allows are
// trusted.
//
// Proxied responses get the headers of restrict.
//
// Options: --console. Metrics: none. Order: before authentication, which it protects.
func withCrossSite(o CrossSiteOptions, cors CORSOptions) filter {
	if !o.RejectCrossSite && !o.SandboxProxied {
		return nil
	}
	allowed, err := compileOrigins(cors.CORSAllowedOrigins)
	if err != nil {
		klog.ErrorS(err, "Trusting no origin: invalid --cors-allowed-origins")
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			e.sandbox = o.SandboxProxied
			if o.RejectCrossSite && crossOrigin(r, allowed) && changes(r) {
				e.auditUnauthenticated(r)
				responsewriters.WriteError(w, r, apierrors.NewForbidden(schema.GroupResource{}, "", errCrossSite))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

var errCrossSite = errors.New("the request was made by a page of another site")

func crossOrigin(r *http.Request, allowed []*regexp.Regexp) bool {
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

// sandboxed is the Content-Security-Policy of proxied pages. Scripts run in an opaque origin, without access to
// cookies, storage, service workers and API responses of this server.
const sandboxed = "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts"

// restrict changes the headers of a proxied response, so that it does not act with this server's origin in a
// browser. Responses to other clients keep all headers that do not concern browsers alone.
func restrict(h http.Header, r *http.Request) {
	h.Del("Service-Worker-Allowed")
	h.Del("Clear-Site-Data")
	if fromBrowser(r) {
		h.Del("Set-Cookie")
		h.Add("Content-Security-Policy", sandboxed)
	}
}

// fromBrowser reports whether a browser sent the request: one with Fetch Metadata headers, which browsers send to
// trustworthy origins, or one that accepts HTML.
func fromBrowser(r *http.Request) bool {
	for _, name := range []string{"Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Service-Worker"} {
		if r.Header.Get(name) != "" {
			return true
		}
	}
	return strings.Contains(strings.ToLower(r.Header.Get("Accept")), "text/html")
}
