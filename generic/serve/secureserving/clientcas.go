package secureserving

import (
	"crypto/tls"
	"crypto/x509"
	"sync/atomic"
)

// followClientCAs sends the current client CAs in each handshake. Clients choose their certificate by them, and
// would not send one that a renewed CA signed.
func followClientCAs(base *tls.Config, now func() *x509.CertPool) {
	type made struct {
		pool   *x509.CertPool
		config *tls.Config
	}
	var last atomic.Pointer[made]
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		pool := now()
		if m := last.Load(); m != nil && m.pool == pool {
			return m.config, nil
		}
		m := &made{pool: pool, config: base.Clone()}
		m.config.ClientCAs, m.config.GetConfigForClient = pool, nil
		last.Store(m)
		return m.config, nil
	}
}
