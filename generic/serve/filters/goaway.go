package filters

import (
	"errors"
	"math/rand/v2"
	"net/http"
)

// GoawayOptions is --goaway-chance.
type GoawayOptions struct {
	// GoawayChance is the probability that a request closes its HTTP/2 connection, at most 0.02; 0 disables the
	// filter.
	GoawayChance float64
}

// Validate returns an error for an invalid probability.
func (o GoawayOptions) Validate() []error {
	if o.GoawayChance < 0 || o.GoawayChance > 0.02 {
		return []error{errors.New("--goaway-chance must be between 0 and 0.02")}
	}
	return nil
}

// withGoaway makes a fraction of HTTP/2 clients reconnect, so that load balancers distribute them across servers.
// Package http2 sends GOAWAY with a response with "Connection: close".
//
// Options: --goaway-chance. Metrics: none. Order: before all filters that respond, so that it includes rejected
// requests.
func withGoaway(o GoawayOptions) filter {
	chance := o.GoawayChance
	if chance <= 0 {
		return nil
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
