package triplane

import (
	"net"
	"path/filepath"
	"strconv"

	"triplane.dev/generic/run/host"
	"triplane.dev/generic/run/pki"
)

// needsDataDir reports whether files are needed below the data directory: the embedded etcd, or keys that no flag
// provides. The CA and certificate of front proxies are optional, as in kube-apiserver.
func (o *Options) needsDataDir() bool {
	return o.Etcd.Embedded() || o.SecureServing.CertFile == "" || o.Authentication.ClientCAFile == "" ||
		o.Authentication.ServiceAccount.SigningKeyFile == "" && o.Authentication.ServiceAccount.SigningEndpoint == ""
}

// ensureKeys generates missing keys, and sets the options to them.
func (o *Options) ensureKeys() (pki.Files, error) {
	if o.servesCertDir() {
		var config pki.Config
		config.Names, config.IPs = o.servingNames()
		if err := pki.EnsureServing(o.SecureServing.CertFile, o.SecureServing.KeyFile, config); err != nil {
			return pki.Files{}, err
		}
	}
	if !o.needsDataDir() {
		return pki.Files{}, nil
	}
	h := &o.Authentication.RequestHeader
	if h.ClientCAFile == "" && len(h.AllowedNames) == 0 {
		h.AllowedNames = []string{"front-proxy-client"}
	}
	config := pki.Config{FrontProxy: "front-proxy-client"}
	if len(h.AllowedNames) > 0 {
		config.FrontProxy = h.AllowedNames[0]
	}
	config.Names, config.IPs = o.servingNames()
	files, err := pki.Ensure(filepath.Join(o.DataDir, "pki"), config)
	if err != nil {
		return files, err
	}
	authn := o.Authentication
	if authn.ClientCAFile == "" {
		authn.ClientCAFile = files.CACert
	}
	if authn.ServiceAccount.SigningKeyFile == "" && authn.ServiceAccount.SigningEndpoint == "" {
		authn.ServiceAccount.SigningKeyFile = files.ServiceAccountKey
	}
	if h.ClientCAFile == "" {
		h.ClientCAFile = files.FrontProxyCACert
		setDefault(&h.UsernameHeaders, "X-Remote-User")
		setDefault(&h.GroupHeaders, "X-Remote-Group")
		setDefault(&h.ExtraHeaderPrefixes, "X-Remote-Extra-")
	}
	if o.Kube.ProxyClientCertFile == "" {
		o.Kube.ProxyClientCertFile, o.Kube.ProxyClientKeyFile = files.FrontProxyClientCert, files.FrontProxyClientKey
	}
	return files, nil
}

// servesCertDir reports whether the serving certificate is that of --cert-dir.
func (o *Options) servesCertDir() bool {
	return o.SecureServing.CertDir != "" && o.SecureServing.CertFile == filepath.Join(o.SecureServing.CertDir,
		"apiserver.crt")
}

// setDefault sets a default for an empty list.
func setDefault(values *[]string, value string) {
	if len(*values) == 0 {
		*values = []string{value}
	}
}

// adminKubeconfig writes DATA/admin.kubeconfig for a server on a port, and returns its path. It returns "" with
// --client-ca-file, because then there is no administrator's certificate.
func (o *Options) adminKubeconfig(files pki.Files, port int) (string, error) {
	if o.Authentication.ClientCAFile != files.CACert {
		return "", nil
	}
	ca := files.CACert
	if o.SecureServing.CertFile != "" {
		ca = o.SecureServing.CertFile
	}
	path := filepath.Join(o.DataDir, KubeconfigFile)
	if o.KeepKubeconfig {
		return path, nil
	}
	url := "https://" + net.JoinHostPort(o.localHost(), strconv.Itoa(port))
	return path, host.WriteKubeconfig(path, host.Kubeconfig{Name: "triplane", URL: url, CAFile: ca,
		CertFile: files.AdminCert, KeyFile: files.AdminKey})
}

// localHost returns the host by which local clients reach the server.
func (o *Options) localHost() string { return host.LocalHost(o.SecureServing.BindAddress) }
