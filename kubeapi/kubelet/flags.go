package kubelet

import (
	"errors"

	"github.com/spf13/pflag"
)

// AddFlags binds the flags of connections to kubelets, which logs, exec, attach, port-forward and the proxy of nodes
// use.
func (c *Config) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.CertFile, "kubelet-client-certificate", c.CertFile,
		"File with the client certificate for kubelets.")
	fs.StringVar(&c.KeyFile, "kubelet-client-key", c.KeyFile, "File with the key of --kubelet-client-certificate.")
	fs.StringVar(&c.CAFile, "kubelet-certificate-authority", c.CAFile,
		"File with the CA of the kubelets' serving certificates. If blank, they are not verified.")
	fs.StringSliceVar(&c.AddressTypes, "kubelet-preferred-address-types", c.AddressTypes,
		"The types of a node's addresses for connections to its kubelet, in order of preference: Hostname, "+
			"InternalDNS, InternalIP, ExternalDNS, ExternalIP.")
	fs.DurationVar(&c.Timeout, "kubelet-timeout", c.Timeout,
		"The timeout of connecting to a kubelet. 0 means no limit.")
	fs.Int64Var(&c.MaxBytesPerSecond, "max-connection-bytes-per-sec", c.MaxBytesPerSecond,
		"The maximum rate of a connection to a container, such as exec, in bytes per second. 0 means no limit.")
	fs.UintVar(&c.Port, "kubelet-port", c.Port,
		"The port of kubelets whose nodes do not specify it.")
	_ = fs.MarkDeprecated("kubelet-port", "kubelet-port is deprecated and will be removed.")
}

// Validate returns an error for each invalid value.
func (c *Config) Validate() []error {
	var errs []error
	if (c.CertFile == "") != (c.KeyFile == "") {
		errs = append(errs, errors.New("--kubelet-client-certificate and --kubelet-client-key must be given together"))
	}
	if c.Timeout < 0 {
		errs = append(errs, errors.New("--kubelet-timeout cannot be negative"))
	}
	if c.MaxBytesPerSecond < 0 {
		errs = append(errs, errors.New("--max-connection-bytes-per-sec cannot be negative"))
	}
	if c.Port > 65535 {
		errs = append(errs, errors.New("--kubelet-port must be at most 65535"))
	}
	return errs
}
