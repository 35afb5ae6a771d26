package filters

import (
	"math/rand/v2"
	"net/http"
)

// withGoaway asks a fraction of HTTP/2 clients to reconnect, so that they spread
// over the servers behind a load balancer.
func withGoaway(chance float64) func(http.Handler) http.Handler {
	if chance <= 0 {
		return unchanged
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 && rand.Float64() < chance {
				w.Header().Set("Connection", "close")
			}
			next.ServeHTTP(w, r)
		})
	}
}
