package egress

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Dial connects to a TCP address, host:port, like net.Dialer.DialContext.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Selector connects to destinations. A nil Selector connects directly. It is safe for concurrent use.
type Selector struct {
	dials   map[string]Dial // configured dials by destination
	metrics *dialMetrics
	close   context.CancelFunc
}

// Load reads the file of --egress-selector-config-file. It returns nil if file is "". Client certificates are
// read when they are used.
func Load(file string) (*Selector, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Selector{dials: map[string]Dial{}, metrics: newDialMetrics(), close: cancel}
	for i := range c.EgressSelections {
		dial, err := s.dial(ctx, &c.EgressSelections[i].Connection)
		if err != nil {
			cancel()
			return nil, fmt.Errorf("%s: %s: %w", file, c.EgressSelections[i].Name, err)
		}
		s.dials[c.EgressSelections[i].Name] = dial
	}
	return s, nil
}

// dial returns the Dial for a configured connection. The end of life closes connections through konnectivity.
func (s *Selector) dial(life context.Context, c *connection) (Dial, error) {
	if c.ProxyProtocol == protocolDirect {
		return direct, nil
	}
	proxy, err := newProxy(c.Transport)
	if err != nil {
		return nil, err
	}
	if c.ProxyProtocol == protocolGRPC {
		return s.metrics.measured("grpc", proxy.kind, konnectivity{proxy, life}.dial), nil
	}
	return s.metrics.measured("http_connect", proxy.kind, proxy.connect), nil
}

// DialCluster connects to nodes, pods and Services.
func (s *Selector) DialCluster(ctx context.Context, network, address string) (net.Conn, error) {
	return s.to(nameCluster)(ctx, network, address)
}

// DialControlPlane connects to destinations that are not behind a Service, such as webhooks with a URL.
func (s *Selector) DialControlPlane(ctx context.Context, network, address string) (net.Conn, error) {
	return s.to(nameControlPlane)(ctx, network, address)
}

// Etcd returns the Dial for etcd, or nil if the configuration has none.
func (s *Selector) Etcd() Dial {
	if s == nil {
		return nil
	}
	return s.dials[nameEtcd]
}

func (s *Selector) to(destination string) Dial {
	if s != nil {
		if dial := s.dials[destination]; dial != nil {
			return dial
		}
	}
	return direct
}

// Collectors returns the metrics of connections through proxies.
func (s *Selector) Collectors() []prometheus.Collector {
	if s == nil {
		return nil
	}
	return s.metrics.collectors()
}

// Close closes connections through konnectivity.
func (s *Selector) Close() {
	if s != nil {
		s.close()
	}
}

// dialTimeout limits connecting, with and without a proxy.
const dialTimeout = 30 * time.Second

func direct(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout, KeepAlive: dialTimeout}
	return d.DialContext(ctx, network, address)
}
