package egress

import (
	"fmt"
	"net/url"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/base/configfile"
)

// Names of egress selections. nameMaster is the name of the control plane in v1alpha1.
const (
	nameCluster      = "cluster"
	nameControlPlane = "controlplane"
	nameEtcd         = "etcd"
	nameMaster       = "master"
)

// Protocols of connections.
const (
	protocolDirect      = "Direct"
	protocolHTTPConnect = "HTTPConnect"
	protocolGRPC        = "GRPC"
)

// configuration is an EgressSelectorConfiguration of apiserver.k8s.io.
type configuration struct {
	EgressSelections []selection `json:"egressSelections"`
}

// selection configures the connections to one type of destination.
type selection struct {
	Name       string     `json:"name"`
	Connection connection `json:"connection"`
}

type connection struct {
	ProxyProtocol string     `json:"proxyProtocol,omitempty"`
	Transport     *transport `json:"transport,omitempty"`
}

// transport is how to connect to the proxy. Exactly one field is set.
type transport struct {
	TCP *tcpTransport `json:"tcp,omitempty"`
	UDS *udsTransport `json:"uds,omitempty"`
}

type tcpTransport struct {
	URL       string     `json:"url,omitempty"`
	TLSConfig *tlsConfig `json:"tlsConfig,omitempty"`
}

type udsTransport struct {
	UDSName string `json:"udsName,omitempty"`
}

// tlsConfig has the paths of PEM files. Without CABundle the system's authorities are trusted.
type tlsConfig struct {
	CABundle   string `json:"caBundle,omitempty"`
	ClientKey  string `json:"clientKey,omitempty"`
	ClientCert string `json:"clientCert,omitempty"`
	// TLSServerName is the name that the proxy's certificate must be valid for. It defaults to the host of the
	// URL.
	TLSServerName string `json:"tlsServerName,omitempty"`
}

// decode decodes and validates a configuration.
func decode(raw []byte) (*configuration, error) {
	c := &configuration{}
	kind := schema.GroupVersionKind{Group: "apiserver.k8s.io", Version: "v1beta1", Kind: "EgressSelectorConfiguration"}
	older := kind.GroupKind().WithVersion("v1alpha1")
	found, err := configfile.DecodeAs(raw, []schema.GroupVersionKind{kind, older}, c)
	if err != nil {
		return nil, err
	}
	if found == older {
		c.renameMaster()
	}
	return c, c.validate().ToAggregate()
}

// renameMaster converts the names of v1alpha1 to v1beta1.
func (c *configuration) renameMaster() {
	for i := range c.EgressSelections {
		if c.EgressSelections[i].Name == nameMaster {
			c.EgressSelections[i].Name = nameControlPlane
		}
	}
}

func (c *configuration) validate() field.ErrorList {
	var errs field.ErrorList
	path, seen := field.NewPath("egressSelections"), map[string]bool{}
	for i := range c.EgressSelections {
		s, at := &c.EgressSelections[i], path.Index(i)
		switch s.Name {
		case nameCluster, nameControlPlane, nameEtcd:
		default:
			errs = append(errs, field.NotSupported(at.Child("name"), s.Name, []string{nameCluster, nameControlPlane, nameEtcd}))
		}
		if seen[s.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), s.Name))
		}
		seen[s.Name] = true
		errs = append(errs, s.Connection.validate(at.Child("connection"))...)
	}
	return errs
}

func (c *connection) validate(at *field.Path) field.ErrorList {
	switch c.ProxyProtocol {
	case protocolDirect:
		if c.Transport != nil {
			return field.ErrorList{field.Forbidden(at.Child("transport"), "must be absent for direct connections")}
		}
		return nil
	case protocolHTTPConnect, protocolGRPC:
		return c.Transport.validate(at.Child("transport"))
	}
	return field.ErrorList{field.NotSupported(at.Child("proxyProtocol"), c.ProxyProtocol,
		[]string{protocolDirect, protocolHTTPConnect, protocolGRPC})}
}

func (t *transport) validate(at *field.Path) field.ErrorList {
	switch {
	case t == nil || t.TCP == nil && t.UDS == nil:
		return field.ErrorList{field.Required(at, "either tcp or uds has to be given")}
	case t.TCP != nil && t.UDS != nil:
		return field.ErrorList{field.Invalid(at, "tcp and uds", "only one of tcp and uds may be given")}
	case t.UDS != nil:
		if t.UDS.UDSName == "" {
			return field.ErrorList{field.Required(at.Child("uds", "udsName"), "")}
		}
		return nil
	}
	return t.TCP.validate(at.Child("tcp"))
}

func (t *tcpTransport) validate(at *field.Path) field.ErrorList {
	u, err := url.Parse(t.URL)
	switch {
	case t.URL == "":
		return field.ErrorList{field.Required(at.Child("url"), "")}
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return field.ErrorList{field.Invalid(at.Child("url"), t.URL, "must be http://HOST:PORT or https://HOST:PORT")}
	case u.Port() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.User != nil:
		return field.ErrorList{field.Invalid(at.Child("url"), t.URL, "must have a port, and nothing behind it")}
	case u.Scheme == "http" && t.TLSConfig != nil:
		return field.ErrorList{field.Forbidden(at.Child("tlsConfig"), "must be absent where the URL is http://")}
	case u.Scheme == "http":
		return nil
	case t.TLSConfig == nil:
		return field.ErrorList{field.Required(at.Child("tlsConfig"), "the URL is https://")}
	}
	return t.TLSConfig.validate(at.Child("tlsConfig"))
}

func (c *tlsConfig) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, f := range []struct {
		name, file string
		required   bool
	}{{"caBundle", c.CABundle, false}, {"clientKey", c.ClientKey, true}, {"clientCert", c.ClientCert, true}} {
		if f.file == "" {
			if f.required {
				errs = append(errs, field.Required(at.Child(f.name), "the URL is https://"))
			}
			continue
		}
		if _, err := os.Stat(f.file); err != nil {
			errs = append(errs, field.Invalid(at.Child(f.name), f.file, fmt.Sprintf("%v", err)))
		}
	}
	return errs
}
