package authentication

import (
	"crypto/x509"
	"sync"
)

// UnionPool returns a function that returns the current authorities of all bundles. The function returns the
// same pool until one of the bundles changes.
func UnionPool(bundles ...*CABundle) func() *x509.CertPool {
	var (
		mu      sync.Mutex
		numbers = make([]uint64, len(bundles))
		pool    = x509.NewCertPool()
	)
	return func() *x509.CertPool {
		mu.Lock()
		defer mu.Unlock()
		generations := make([]*caGeneration, len(bundles))
		changed := false
		for i, b := range bundles {
			generations[i] = b.generation()
			changed = changed || generations[i].number != numbers[i]
		}
		if !changed {
			return pool
		}
		pool = x509.NewCertPool()
		for i, g := range generations {
			pool.AppendCertsFromPEM(g.pem)
			numbers[i] = g.number
		}
		return pool
	}
}
