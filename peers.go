package triplane

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/spf13/pflag"

	"triplane.dev/aggregator"
	"triplane.dev/kubeapi/bootstrap"
)

// Peers configures proxying between servers of the same storage.
type Peers struct {
	// CAFile has the CAs of the other servers' certificates; "" disables proxying.
	CAFile string
	// AdvertiseIP and AdvertisePort are where other servers reach this one; "" means the advertised address.
	AdvertiseIP, AdvertisePort string
}

func (o *Peers) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.CAFile, "peer-ca-file", o.CAFile,
		"The CAs of the serving certificates of other API servers on the same store. If set, requests for "+
			"resources that only another server serves are proxied to it. If blank, they are not.")
	fs.StringVar(&o.AdvertiseIP, "peer-advertise-ip", o.AdvertiseIP,
		"The IP address of this server for other API servers on the same store. If blank, --advertise-address.")
	fs.StringVar(&o.AdvertisePort, "peer-advertise-port", o.AdvertisePort,
		"The port of this server for other API servers on the same store. If blank, --secure-port.")
}

// Validate returns an error for each invalid value.
func (o *Peers) Validate() []error {
	var errs []error
	if ip := net.ParseIP(o.AdvertiseIP); o.AdvertiseIP != "" && (ip == nil || ip.IsUnspecified()) {
		errs = append(errs,
			fmt.Errorf("--peer-advertise-ip %q must be the IP address of this server for other API servers",
				o.AdvertiseIP))
	}
	if port, err := strconv.Atoi(o.AdvertisePort); o.AdvertisePort != "" && (err != nil || port < 1 || port > 65535) {
		errs = append(errs, fmt.Errorf("--peer-advertise-port %q must be a port, 1 to 65535", o.AdvertisePort))
	}
	return errs
}

// advertisedToPeers returns the address for other servers, with a default port; nil if there is none.
func (o *Options) advertisedToPeers(port int) *net.TCPAddr {
	peers := o.Kube.Peers
	addr := &net.TCPAddr{IP: net.ParseIP(peers.AdvertiseIP), Port: port}
	if addr.IP == nil {
		addr.IP = o.reachable()
	}
	if port, err := strconv.Atoi(peers.AdvertisePort); err == nil {
		addr.Port = port
	}
	if addr.IP == nil {
		return nil
	}
	return addr
}

// newPeers returns the configuration of peers; nil if proxying to them is disabled.
func newPeers(f *foundation) (*aggregator.Peers, error) {
	file := f.options.Kube.Peers.CAFile
	if f.nested != nil || file == "" || !f.options.Compatibility.Enabled(gatePeers) {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--peer-ca-file: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return nil, errors.New("--peer-ca-file: " + file + " contains no certificate in PEM")
	}
	others := &bootstrap.PeerFollower{Backend: f.store.Backend(), Multiplexer: f.store.Multiplexers()[0],
		Prefix: f.options.Etcd.AbsolutePrefix(), Self: f.serverID}
	return &aggregator.Peers{Follow: others.Run, Authorities: authorities}, nil
}

// gatePeers is the feature gate of proxying to other servers, and of publishing this one to them.
const gatePeers = "UnknownVersionInteroperabilityProxy"
