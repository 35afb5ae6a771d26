package filters

import "net/http"

// FormatOptions configures the compression and the media types of responses.
type FormatOptions struct {
	// CBOR lets bodies, responses and watches travel as CBOR (the feature gate CBORServingAndStorage).
	CBOR bool
	// Uncompressed disables compression of responses, whatever clients accept.
	Uncompressed bool
}

// withUncompressed removes Accept-Encoding from requests, so that handlers do not compress responses.
//
// Options: Uncompressed (the feature gate APIResponseCompression is off). Metrics: none. Order: any.
func withUncompressed(o FormatOptions) filter {
	if !o.Uncompressed {
		return nil
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Accept-Encoding")
			next.ServeHTTP(w, r)
		})
	}
}
