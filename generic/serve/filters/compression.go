package filters

import "net/http"

// CompressionOptions are those of withPlainAnswers.
type CompressionOptions struct {
	// Uncompressed answers nothing compressed, whatever clients take.
	Uncompressed bool
}

// withPlainAnswers hides from the handlers that a client takes compressed answers.
//
// Options: Uncompressed (the feature gate APIResponseCompression is off). Metrics: none.
// Order: any.
func withPlainAnswers(o CompressionOptions) filter {
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
