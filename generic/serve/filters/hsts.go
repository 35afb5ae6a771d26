package filters

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// HSTSOptions is --strict-transport-security-directives.
type HSTSOptions struct {
	// HSTSDirectives are the directives of the Strict-Transport-Security header (RFC 6797). If empty, the filter
	// is disabled.
	HSTSDirectives []string
}

var hstsDirective = regexp.MustCompile(`^(max-age=[0-9]+|includeSubDomains|preload)$`)

// Validate returns an error for each directive that RFC 6797 does not define.
func (o HSTSOptions) Validate() []error {
	var errs []error
	for _, d := range o.HSTSDirectives {
		if !hstsDirective.MatchString(d) {
			errs = append(errs, fmt.Errorf(
				"--strict-transport-security-directives: %q is not max-age=SECONDS, includeSubDomains or preload", d))
		}
	}
	return errs
}

// withHSTS adds the header that makes browsers use only TLS for this host.
//
// Options: --strict-transport-security-directives. Metrics: none. Order: before authentication, so that 401
// responses have the header, too.
func withHSTS(o HSTSOptions) filter {
	if len(o.HSTSDirectives) == 0 {
		return nil
	}
	value := []string{strings.Join(o.HSTSDirectives, "; ")}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Strict-Transport-Security"] = value
			next.ServeHTTP(w, r)
		})
	}
}
