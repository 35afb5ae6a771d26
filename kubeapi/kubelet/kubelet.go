package kubelet

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/serve/secureserving"
)

// Config is how to reach kubelets.
type Config struct {
	// CertFile and KeyFile hold the client certificate (--kubelet-client-certificate,
	// --kubelet-client-key); none is shown without.
	CertFile, KeyFile string
	// CAFile (--kubelet-certificate-authority) verifies kubelets; without it they
	// are not verified.
	CAFile string
	// AddressTypes (--kubelet-preferred-address-types) are tried in this order.
	AddressTypes []string
	// Port (--kubelet-port) is for nodes that do not say theirs.
	Port uint
	// Timeout (--kubelet-timeout) bounds connecting, handshake included; 0 does not.
	Timeout time.Duration
	// MaxBytesPerSecond (--max-connection-bytes-per-sec) limits each connection to a
	// container; 0 does not.
	MaxBytesPerSecond int64
	// Dial, where set, connects to nodes, pods and Services.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// DefaultConfig returns kube-apiserver's defaults.
func DefaultConfig() Config {
	return Config{
		AddressTypes: []string{
			string(corev1.NodeHostName), string(corev1.NodeInternalDNS), string(corev1.NodeInternalIP),
			string(corev1.NodeExternalDNS), string(corev1.NodeExternalIP),
		},
		Port:    10250,
		Timeout: 5 * time.Second,
	}
}

// Client reaches kubelets. It may be used concurrently.
type Client struct {
	config       Config
	certificates *secureserving.Certificates // nil without a client certificate
	transports   atomic.Pointer[transports]
	mu           sync.Mutex // held while transports are replaced
}

// New reads the files of a configuration; the client certificate is followed when
// its files change.
func New(c Config) (*Client, error) {
	client := &Client{config: c}
	if err := client.connect(); err != nil {
		return nil, err
	}
	return client, nil
}

// Dial returns how nodes, pods and Services are connected to; nil is directly, as
// where there is no client.
func (c *Client) Dial() func(ctx context.Context, network, address string) (net.Conn, error) {
	if c == nil {
		return nil
	}
	return c.config.Dial
}

// Transport returns the transport that verifies kubelets as configured. It is for the requests that follow at once:
// after a change of the client certificate there is another one.
func (c *Client) Transport() *http.Transport { return c.current().verified }

// InsecureTransport is like Transport, for one that verifies nothing.
func (c *Client) InsecureTransport() *http.Transport { return c.current().insecure }

// MaxBytesPerSecond limits each upgraded connection; 0 does not.
func (c *Client) MaxBytesPerSecond() int64 { return c.config.MaxBytesPerSecond }

// URL returns where a path of a node's kubelet is. It is an error if the node has
// no address of the preferred types.
func (c *Client) URL(n *corev1.Node, path string, query url.Values) (*url.URL, error) {
	host, err := c.Host(n)
	if err != nil {
		return nil, err
	}
	return &url.URL{Scheme: "https", Host: net.JoinHostPort(host, c.PortOf(n)), Path: path, RawQuery: query.Encode()}, nil
}

// Host returns the address at which a node is reached.
func (c *Client) Host(n *corev1.Node) (string, error) {
	for _, kind := range c.config.AddressTypes {
		for _, a := range n.Status.Addresses {
			if string(a.Type) == kind {
				return a.Address, nil
			}
		}
	}
	return "", fmt.Errorf("no preferred addresses found; known addresses: %v", n.Status.Addresses)
}

// PortOf returns the port of a node's kubelet.
func (c *Client) PortOf(n *corev1.Node) string {
	if port := n.Status.DaemonEndpoints.KubeletEndpoint.Port; port > 0 {
		return strconv.Itoa(int(port))
	}
	return strconv.FormatUint(uint64(c.config.Port), 10)
}
