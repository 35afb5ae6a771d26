package webhook

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"triplane.dev/generic/base/configfile"
	"triplane.dev/generic/guard/admission/configuration"
)

// Credentials authenticate the server to webhooks. They are the users of a kubeconfig file, whose names are
// host names. Nil Credentials are anonymous.
//
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#authenticate-apiservers
type Credentials struct{ users *clientcmdapi.Config }

// ReadConfiguration reads a WebhookAdmissionConfiguration and the kubeconfig file that it names. Without a
// document there are no credentials. manifests is the directory staticManifestsDir, or "".
func ReadConfiguration(raw []byte) (_ *Credentials, manifests string, err error) {
	var c struct {
		KubeConfigFile     string `json:"kubeConfigFile"`
		StaticManifestsDir string `json:"staticManifestsDir"`
	}
	if err := configuration.Decode(raw, &c,
		schema.GroupVersionKind{Group: configfile.Group, Version: "v1", Kind: "WebhookAdmissionConfiguration"},
		schema.GroupVersionKind{Group: configfile.Group, Version: "v1alpha1", Kind: "WebhookAdmission"},
	); err != nil {
		return nil, "", err
	}
	users, err := readUsers(c.KubeConfigFile)
	return users, c.StaticManifestsDir, err
}

func readUsers(file string) (*Credentials, error) {
	if file == "" {
		return nil, nil
	}
	if !filepath.IsAbs(file) {
		return nil, field.Invalid(field.NewPath("kubeConfigFile"), file, "must be an absolute file path")
	}
	users, err := (&clientcmd.ClientConfigLoadingRules{ExplicitPath: file}).Load()
	if err != nil {
		return nil, fmt.Errorf("kubeConfigFile: %w", err)
	}
	return &Credentials{users}, nil
}

// authenticate configures a client with the credentials for its host, "name:port".
func (c *Credentials) authenticate(to *rest.Config, hostPort string) error {
	if c == nil {
		return nil
	}
	info := c.user(hostPort)
	if info == nil {
		return nil
	}
	// clientcmd translates the user of a context into the fields of rest.Config.
	const name = "webhook"
	config, err := clientcmd.NewDefaultClientConfig(clientcmdapi.Config{
		CurrentContext: name,
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: to.Host}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: info},
	}, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return err
	}
	to.Username, to.Password = config.Username, config.Password
	to.BearerToken, to.BearerTokenFile = config.BearerToken, config.BearerTokenFile
	to.ExecProvider, to.AuthProvider = config.ExecProvider, config.AuthProvider
	tls := &to.TLSClientConfig
	tls.CertFile, tls.KeyFile, tls.CertData, tls.KeyData = config.CertFile, config.KeyFile, config.CertData, config.KeyData
	return nil
}

// user returns the user for a host, or nil. It tries these names in order:
//
//  1. the host with its port, and without it if that is 443
//  2. the host with "*" in place of its first labels, the fewest first
//  3. "*"
//  4. the user of the current context
func (c *Credentials) user(hostPort string) *clientcmdapi.AuthInfo {
	names := []string{hostPort}
	if host, port, err := net.SplitHostPort(hostPort); err == nil && port == "443" {
		names = append(names, host)
	}
	for _, name := range names {
		if info, ok := c.users.AuthInfos[name]; ok {
			return info
		}
	}
	for _, name := range names {
		for _, rest, ok := strings.Cut(name, "."); ok; _, rest, ok = strings.Cut(rest, ".") {
			if info, found := c.users.AuthInfos["*."+rest]; found {
				return info
			}
		}
	}
	if info, ok := c.users.AuthInfos["*"]; ok {
		return info
	}
	if current, ok := c.users.Contexts[c.users.CurrentContext]; ok {
		return c.users.AuthInfos[current.AuthInfo]
	}
	return nil
}
