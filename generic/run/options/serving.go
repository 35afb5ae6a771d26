package options

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"triplane/generic/serve/server"
)

// SecureServing is where and how the server listens.
type SecureServing struct {
	BindAddress net.IP
	// BindPort of 0 lets the kernel choose.
	BindPort int
	CertFile string
	KeyFile  string
	// CertDir holds apiserver.crt and apiserver.key, which are served where CertFile
	// and KeyFile are not given.
	CertDir string
	SNI     []cliflag.NamedCertKey
	// ECDSA generates an ECDSA key where no certificate is given, which is faster than RSA: for tests.
	// Clients that accept no cipher suites but those of RSA cannot connect then.
	ECDSA bool

	server.ServingOptions
	PermitPortSharing    bool
	PermitAddressSharing bool
}

// NewSecureServing returns the defaults. BindAddress is left open: it depends on
// what the server is for.
func NewSecureServing() *SecureServing { return &SecureServing{BindPort: 6443} }

// AddFlags binds the flags.
func (o *SecureServing) AddFlags(fs *pflag.FlagSet) {
	fs.IPVar(&o.BindAddress, "bind-address", o.BindAddress,
		"The IP address to listen on. If blank, 127.0.0.1 with the embedded store and all addresses (0.0.0.0) with --etcd-servers.")
	fs.IntVar(&o.BindPort, "secure-port", o.BindPort,
		"The port to serve HTTPS on. 0 takes a free one, which is printed.")
	fs.StringVar(&o.CertFile, "tls-cert-file", o.CertFile,
		"File with the certificate for HTTPS, PEM, intermediate certificates behind it. If it and --tls-private-key-file are not given, a certificate is generated in the data directory.")
	fs.StringVar(&o.KeyFile, "tls-private-key-file", o.KeyFile,
		"File with the private key of --tls-cert-file.")
	fs.StringVar(&o.CertDir, "cert-dir", o.CertDir,
		"Directory with apiserver.crt and apiserver.key, which are served where --tls-cert-file and --tls-private-key-file are not given. A certificate is generated there if it has none. If blank, one below --data-dir.")
	fs.Var(cliflag.NewNamedCertKeyArray(&o.SNI), "tls-sni-cert-key",
		"A certificate and its key for some server names: 'a.crt,a.key' for the names in the certificate, or 'a.crt,a.key:*.foo.com,foo.com'. May be given several times.")
	fs.Var(&tlsVersion{id: &o.MinTLSVersion}, "tls-min-version",
		"The least TLS version: "+strings.Join(cliflag.TLSPossibleVersions(), ", ")+". VersionTLS12 if blank.")
	fs.Var(&tlsCipherSuites{ids: &o.CipherSuites}, "tls-cipher-suites",
		"Cipher suites of TLS 1.2, comma separated; Go's choice if blank. Preferred: "+strings.Join(cliflag.PreferredTLSCipherNames(), ", ")+".")
	fs.Var(&tlsCurves{ids: &o.CurvePreferences}, "tls-curve-preferences",
		"Key exchange mechanisms by their numbers in Go's crypto/tls, comma separated; Go's choice if blank.")
	fs.BoolVar(&o.DisableHTTP2, "disable-http2-serving", o.DisableHTTP2, "Serve HTTP/1.1 only.")
	fs.IntVar(&o.HTTP2MaxStreamsPerConnection, "http2-max-streams-per-connection", o.HTTP2MaxStreamsPerConnection,
		"How many requests an HTTP/2 connection may carry at once; 0 is 100.")
	fs.BoolVar(&o.PermitPortSharing, "permit-port-sharing", o.PermitPortSharing,
		"Bind with SO_REUSEPORT, so that several processes can share the port.")
	fs.BoolVar(&o.PermitAddressSharing, "permit-address-sharing", o.PermitAddressSharing,
		"Bind with SO_REUSEADDR, so that a wildcard address and specific ones can be bound side by side.")
}

// Validate returns what is wrong.
func (o *SecureServing) Validate() []error {
	var errs []error
	if o.BindPort < 0 || o.BindPort > 65535 {
		errs = append(errs, fmt.Errorf("--secure-port %d is not a port: it must be between 0 and 65535", o.BindPort))
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		errs = append(errs, fmt.Errorf("--tls-cert-file and --tls-private-key-file must be given together"))
	}
	if o.HTTP2MaxStreamsPerConnection < 0 {
		errs = append(errs, fmt.Errorf("--http2-max-streams-per-connection cannot be negative"))
	}
	return errs
}

// Listen opens the listener. It can be done before certificates are at hand, so
// that a port in use is known at once.
func (o *SecureServing) Listen(ctx context.Context) (net.Listener, error) {
	address := net.JoinHostPort(o.BindAddress.String(), strconv.Itoa(o.BindPort))
	return server.Listen(ctx, address, server.ReusePort(o.PermitPortSharing, o.PermitAddressSharing))
}

// Serving joins listener and certificates; the default certificate is the one
// given by flags, else generated.
func (o *SecureServing) Serving(l net.Listener, generated server.CertificateFiles) (*server.SecureServing, error) {
	def := generated
	if o.CertFile != "" {
		def = server.CertificateFiles{CertFile: o.CertFile, KeyFile: o.KeyFile}
	}
	var sni []server.CertificateFiles
	for _, s := range o.SNI {
		sni = append(sni, server.CertificateFiles{CertFile: s.CertFile, KeyFile: s.KeyFile, Names: slices.Clone(s.Names)})
	}
	certificates, err := server.NewCertificates(def, sni...)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert-file, --tls-private-key-file or --tls-sni-cert-key: %w", err)
	}
	return &server.SecureServing{Listener: l, Certificates: certificates, ServingOptions: o.ServingOptions}, nil
}
