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

	"triplane.dev/generic/serve/secureserving"
)

// SecureServing configures the HTTPS listener.
type SecureServing struct {
	BindAddress net.IP
	// BindPort is the port; 0 lets the kernel choose one.
	BindPort int
	CertFile string
	KeyFile  string
	// CertDir contains apiserver.crt and apiserver.key, which are used if CertFile and KeyFile are not set.
	CertDir string
	SNI     []cliflag.NamedCertKey

	secureserving.ServingOptions
	PermitPortSharing    bool
	PermitAddressSharing bool
}

// NewSecureServing returns the defaults. BindAddress is unset, because its default depends on the server.
func NewSecureServing() *SecureServing { return &SecureServing{BindPort: 6443} }

// AddFlags binds the flags.
func (o *SecureServing) AddFlags(fs *pflag.FlagSet) {
	fs.IPVar(&o.BindAddress, "bind-address", o.BindAddress,
		"The IP address to listen on. If blank, 127.0.0.1 with the embedded etcd, and all addresses (0.0.0.0) "+
			"with --etcd-servers.")
	fs.IntVar(&o.BindPort, "secure-port", o.BindPort,
		"The port to serve HTTPS on. 0 chooses a free port, which is printed.")
	fs.StringVar(&o.CertFile, "tls-cert-file", o.CertFile,
		"File with the certificate for HTTPS, PEM, followed by intermediate certificates. Without it and "+
			"--tls-private-key-file, a certificate is generated in the data directory.")
	fs.StringVar(&o.KeyFile, "tls-private-key-file", o.KeyFile,
		"File with the private key of --tls-cert-file.")
	fs.StringVar(&o.CertDir, "cert-dir", o.CertDir,
		"Directory with apiserver.crt and apiserver.key, which are used without --tls-cert-file and "+
			"--tls-private-key-file. A certificate is generated there if there is none. If blank, a directory below "+
			"--data-dir.")
	fs.Var(cliflag.NewNamedCertKeyArray(&o.SNI), "tls-sni-cert-key",
		"A certificate and key for server names (SNI): 'a.crt,a.key' for the names in the certificate, or "+
			"'a.crt,a.key:*.foo.com,foo.com'. May be repeated.")
	fs.Var(&tlsVersion{id: &o.MinTLSVersion}, "tls-min-version",
		"The minimum TLS version: "+strings.Join(cliflag.TLSPossibleVersions(), ", ")+". If blank, VersionTLS12.")
	fs.Var(&tlsCipherSuites{ids: &o.CipherSuites}, "tls-cipher-suites",
		"Cipher suites of TLS 1.2, comma separated. If blank, Go's defaults. Preferred: "+
			strings.Join(cliflag.PreferredTLSCipherNames(), ", ")+".")
	fs.Var(&tlsCurves{ids: &o.CurvePreferences}, "tls-curve-preferences",
		"Key exchange mechanisms by their numbers in Go's crypto/tls, comma separated. If blank, Go's defaults.")
	fs.BoolVar(&o.DisableHTTP2, "disable-http2-serving", o.DisableHTTP2, "Serve HTTP/1.1 only.")
	fs.IntVar(&o.HTTP2MaxStreamsPerConnection, "http2-max-streams-per-connection", o.HTTP2MaxStreamsPerConnection,
		"How many concurrent requests an HTTP/2 connection may have. 0 means 100.")
	fs.BoolVar(&o.PermitPortSharing, "permit-port-sharing", o.PermitPortSharing,
		"Bind with SO_REUSEPORT, so that several processes can share the port.")
	fs.BoolVar(&o.PermitAddressSharing, "permit-address-sharing", o.PermitAddressSharing,
		"Bind with SO_REUSEADDR, so that a wildcard address and specific addresses can be bound at the same time.")
}

// Validate returns an error for each invalid value.
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

// Listen opens the listener. It does not need certificates, so that a port in use is reported early.
func (o *SecureServing) Listen(ctx context.Context) (net.Listener, error) {
	address := net.JoinHostPort(o.BindAddress.String(), strconv.Itoa(o.BindPort))
	return secureserving.Listen(ctx, address, o.PermitPortSharing, o.PermitAddressSharing)
}

// Serving combines listener and certificates. The default certificate is the one of the flags, otherwise def, the
// generated one.
func (o *SecureServing) Serving(l net.Listener,
	def secureserving.CertificateFiles) (*secureserving.SecureServing, error) {
	if o.CertFile != "" {
		def = secureserving.CertificateFiles{CertFile: o.CertFile, KeyFile: o.KeyFile}
	}
	var sni []secureserving.CertificateFiles
	for _, s := range o.SNI {
		sni = append(sni, secureserving.CertificateFiles{CertFile: s.CertFile, KeyFile: s.KeyFile,
			Names: slices.Clone(s.Names)})
	}
	certificates, err := secureserving.NewCertificates(def, sni...)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert-file, --tls-private-key-file or --tls-sni-cert-key: %w", err)
	}
	return &secureserving.SecureServing{Listener: l, Certificates: certificates, ServingOptions: o.ServingOptions}, nil
}
