package host

import (
	"net"
	"os"
	"path/filepath"

	"triplane.dev/generic/run/options"
	"triplane.dev/generic/run/pki"
	"triplane.dev/generic/serve/secureserving"
)

// Keys are the certificate that a server presents, and the files that were generated for it.
type Keys struct {
	Serving secureserving.CertificateFiles
	// Files are the authorities and the administrator's certificate; empty without them.
	Files pki.Files
}

// EnsureKeys generates what is missing in dir: authorities and the administrator's certificate if authorities is true,
// and a serving certificate unless flags name one or its directory.
func EnsureKeys(dir string, o *options.SecureServing, run *options.ServerRun, authorities bool) (k Keys, err error) {
	config := pki.Config{FrontProxy: "front-proxy-client"}
	config.Names, config.IPs = ServingNames(o, run)
	if authorities {
		if k.Files, err = pki.Ensure(dir, config); err != nil {
			return k, err
		}
	}
	k.Serving = secureserving.CertificateFiles{CertFile: o.CertFile, KeyFile: o.KeyFile}
	switch {
	case o.CertFile != "":
		return k, nil
	case authorities && o.CertDir == "":
		k.Serving = k.Files.Serving()
		return k, nil
	}
	if o.CertDir != "" {
		dir = o.CertDir
	}
	k.Serving = secureserving.CertificateFiles{CertFile: filepath.Join(dir, "apiserver.crt"),
		KeyFile: filepath.Join(dir, "apiserver.key")}
	return k, pki.EnsureServing(k.Serving.CertFile, k.Serving.KeyFile, config)
}

// ServingNames returns the names and addresses of a generated serving certificate.
func ServingNames(o *options.SecureServing, run *options.ServerRun) (names []string, ips []net.IP) {
	names = []string{"localhost"}
	if name, err := os.Hostname(); err == nil && name != "" {
		names = append(names, name)
	}
	if h := run.ExternalHost; h != "" && net.ParseIP(h) == nil {
		names = append(names, h)
	}
	ips = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	for _, ip := range []net.IP{o.BindAddress, run.AdvertiseAddress, net.ParseIP(run.ExternalHost)} {
		if ip != nil && !ip.IsUnspecified() {
			ips = append(ips, ip)
		}
	}
	return names, ips
}

// WriteKubeconfig writes the administrator's kubeconfig of a server at a URL.
func (k Keys) WriteKubeconfig(path, name, url string) error {
	ca := k.Serving.CertFile
	if ca == k.Files.ServingCert {
		ca = k.Files.CACert
	}
	return WriteKubeconfig(path, Kubeconfig{Name: name, URL: url, CAFile: ca, CertFile: k.Files.AdminCert,
		KeyFile: k.Files.AdminKey})
}
