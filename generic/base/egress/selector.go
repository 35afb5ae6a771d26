package egress

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Dial connects to a TCP address, host:port, as net.Dialer.DialContext does.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Selector connects to destinations. The nil Selector connects directly, too. It may
// be used concurrently.
type Selector struct {
	dials   map[string]Dial // those of the configuration, by destination
	metrics *dialMetrics
	close   context.CancelFunc
}

// Load reads the configuration of --egress-selector-config-file, and returns nil where
// there is none. Client certificates are read again when they are used.
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

// dial returns how a connection is made; life ends those through konnectivity.
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

// DialControlPlane connects to what is not behind a Service, as webhooks by URL.
func (s *Selector) DialControlPlane(ctx context.Context, network, address string) (net.Conn, error) {
	return s.to(nameControlPlane)(ctx, network, address)
}

// Etcd returns how etcd is reached, nil where nothing is configured for it.
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

// Collectors are the metrics of connections through proxies.
func (s *Selector) Collectors() []prometheus.Collector {
	if s == nil {
		return nil
	}
	return s.metrics.collectors()
}

// Close ends open connections through konnectivity.
func (s *Selector) Close() {
	if s != nil {
		s.close()
	}
}

// dialTimeout bounds connecting, by whichever way.
const dialTimeout = 30 * time.Second

func direct(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout, KeepAlive: dialTimeout}
	return d.DialContext(ctx, network, address)
}
