package triplane

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/spf13/pflag"

	"triplane/aggregator"
	"triplane/kubeapi/bootstrap"
)

// Peers is how servers of the same storage pass requests on to each other.
type Peers struct {
	// CAFile has the authorities of the others' serving certificates; "" passes nothing on.
	CAFile string
	// AdvertiseIP and AdvertisePort are where the others reach this server; "" is what
	// members of the cluster are given.
	AdvertiseIP, AdvertisePort string
}

func (o *Peers) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.CAFile, "peer-ca-file", o.CAFile,
		"The authorities of the serving certificates of other API servers on the same etcd. With it, requests for what this server does not serve, and another does, are passed on to that.")
	fs.StringVar(&o.AdvertiseIP, "peer-advertise-ip", o.AdvertiseIP, "The IP that other API servers on the same etcd reach this one at. --advertise-address if blank.")
	fs.StringVar(&o.AdvertisePort, "peer-advertise-port", o.AdvertisePort, "The port that other API servers on the same etcd reach this one at. --secure-port if blank.")
}

// Validate returns what is wrong.
func (o *Peers) Validate() []error {
	var errs []error
	if ip := net.ParseIP(o.AdvertiseIP); o.AdvertiseIP != "" && (ip == nil || ip.IsUnspecified()) {
		errs = append(errs, fmt.Errorf("--peer-advertise-ip %q must be the IP address that other API servers reach this one at", o.AdvertiseIP))
	}
	if port, err := strconv.Atoi(o.AdvertisePort); o.AdvertisePort != "" && (err != nil || port < 1 || port > 65535) {
		errs = append(errs, fmt.Errorf("--peer-advertise-port %q must be a port, 1 to 65535", o.AdvertisePort))
	}
	return errs
}

// advertisedToPeers is where other servers reach this one; nil where it has no address
// for others.
func (p *parts) advertisedToPeers() *net.TCPAddr {
	o := p.options.Kube.Peers
	addr := &net.TCPAddr{IP: net.ParseIP(o.AdvertiseIP), Port: p.advertisedPort()}
	if addr.IP == nil {
		addr.IP = p.options.advertised()
	}
	if port, err := strconv.Atoi(o.AdvertisePort); err == nil {
		addr.Port = port
	}
	if addr.IP == nil {
		return nil
	}
	return addr
}

// advertisedPort is the port that members of the cluster are given.
func (p *parts) advertisedPort() int {
	return cmp.Or(p.options.ServerRun.AdvertisePort, p.config.Serving.Port())
}

// peers are the other servers; nil where nothing is passed on to them.
func (p *parts) peers() (*aggregator.Peers, error) {
	file := p.options.Kube.Peers.CAFile
	if file == "" || !p.options.Compatibility.Enabled(gatePeers) {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--peer-ca-file: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return nil, errors.New("--peer-ca-file: " + file + " has no certificate in PEM")
	}
	others := &bootstrap.PeerFollower{Backend: p.store.Backend(), Multiplexer: p.store.Multiplexers()[0], Prefix: p.options.Etcd.AbsolutePrefix(), Self: p.serverID()}
	return &aggregator.Peers{Follow: others.Run, Authorities: authorities}, nil
}

// gatePeers passes requests on to other servers, and announces this one to them.
const gatePeers = "UnknownVersionInteroperabilityProxy"
