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
)

// CrossSiteOptions is what pages of other sites may do.
type CrossSiteOptions struct {
	// RefuseCrossSite refuses what a page of another site asks a browser to change
	// with the certificate that the browser sends by itself.
	RefuseCrossSite bool
	// SandboxProxied gives pages of pods, services, nodes and external API servers an origin
	// of their own in browsers: this server's is that of the console.
	SandboxProxied bool
}

// withCrossSite refuses requests that a page of another origin has made by a
// browser, and that may change something: other methods than GET, HEAD and OPTIONS,
// and upgrades, to which no rule of browsers applies. A browser shows its certificate
// whoever asks, and a server with a console invites to import one. Browsers say where
// a request comes from in Sec-Fetch-Site (Fetch Metadata), which no page can set, and
// other clients do not send. A request that carries a token was made by somebody who
// knows it, and origins that CORS allows are trusted.
//
// What is proxied responds with restrict's headers.
//
// Options: --console. Metrics: none. Order: before authentication, which it protects.
func withCrossSite(o CrossSiteOptions, cors CORSOptions) filter {
	if !o.RefuseCrossSite && !o.SandboxProxied {
		return nil
	}
	allowed, err := compileOrigins(cors.CORSAllowedOrigins)
	if err != nil {
		klog.ErrorS(err, "No origin is trusted")
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			e.sandbox = o.SandboxProxied
			if o.RefuseCrossSite && fromElsewhere(r, allowed) && changes(r) {
				e.auditUnauthenticated(r)
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

// sandboxed is the policy of proxied pages: scripts run, with an origin that nothing else has. Cookies, storage,
// service workers and responses of the API are those of other origins to them.
const sandboxed = "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts"

// restrict changes the headers of a response that others have made: it must not act as this server's in a browser.
// A client that is none gets what was sent, but for what concerns browsers alone.
func restrict(h http.Header, r *http.Request) {
	h.Del("Service-Worker-Allowed")
	h.Del("Clear-Site-Data")
	if ofBrowser(r) {
		h.Del("Set-Cookie")
		h.Add("Content-Security-Policy", sandboxed)
	}
}

// ofBrowser reports whether a browser has sent the request: by Fetch Metadata, which browsers send to
// trustworthy origins, or because it prefers pages.
func ofBrowser(r *http.Request) bool {
	for _, name := range []string{"Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Service-Worker"} {
		if r.Header.Get(name) != "" {
			return true
		}
	}
	return strings.Contains(strings.ToLower(r.Header.Get("Accept")), "text/html")
}
