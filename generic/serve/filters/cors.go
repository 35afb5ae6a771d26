package filters

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"

	"k8s.io/klog/v2"
)

// CORSOptions is --cors-allowed-origins.
type CORSOptions struct {
	// CORSAllowedOrigins are unanchored regular expressions. The Origin header must match one of them. If empty,
	// the filter is disabled.
	CORSAllowedOrigins []string
}

// Validate returns an error if a pattern does not compile.
func (o CORSOptions) Validate() []error {
	if _, err := compileOrigins(o.CORSAllowedOrigins); err != nil {
		return []error{fmt.Errorf("--cors-allowed-origins: %w", err)}
	}
	return nil
}

func compileOrigins(patterns []string) ([]*regexp.Regexp, error) {
	compiled := make([]*regexp.Regexp, 0, len(patterns))
	for _, p := range patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, fmt.Errorf("invalid CORS origin %q: %w", p, err)
		}
		compiled = append(compiled, re)
	}
	return compiled, nil
}

// withCORS allows browsers to use the API from pages of other origins. It adds the Access-Control headers for
// allowed origins and responds to preflight requests. If a pattern is invalid, no origin is allowed.
//
// Options: --cors-allowed-origins. Metrics: none. Order: before authentication, because preflight requests carry
// no credentials.
func withCORS(o CORSOptions) filter {
	if len(o.CORSAllowedOrigins) == 0 {
		return nil
	}
	allowed, err := compileOrigins(o.CORSAllowedOrigins)
	if err != nil {
		klog.ErrorS(err, "Disabled CORS")
		return nil
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			origin := r.Header.Get("Origin")
			if origin == "" || !matchesAny(allowed, origin) {
				next.ServeHTTP(w, r)
				return
			}
			h := w.Header()
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Allow-Methods", "POST, GET, OPTIONS, PUT, DELETE, PATCH")
			h.Set("Access-Control-Allow-Headers",
				"Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, "+
					"If-Modified-Since")
			h.Set("Access-Control-Expose-Headers", "Date")
			h.Set("Access-Control-Allow-Credentials", "true")
			if r.Method == http.MethodOptions {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func matchesAny(allowed []*regexp.Regexp, origin string) bool {
	return slices.ContainsFunc(allowed, func(re *regexp.Regexp) bool { return re.MatchString(origin) })
}
