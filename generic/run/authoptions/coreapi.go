package authoptions

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// CoreAPI configures the connection of an extension API server to the core API server.
type CoreAPI struct {
	// KubeconfigFile is a kubeconfig; "" uses the pod's service account.
	KubeconfigFile string
}

// AddFlags binds the flags.
func (o *CoreAPI) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.KubeconfigFile, "kubeconfig", o.KubeconfigFile,
		"Kubeconfig of the core API server, whose namespaces, admission webhooks and policies, and flow schemas "+
			"apply. If blank, the service account of the server's pod.")
}

// Config returns the client configuration.
func (o *CoreAPI) Config() (*rest.Config, error) { return coreConfig(o.KubeconfigFile, "kubeconfig") }

// coreConfig returns the client configuration for the core API server: the kubeconfig of a flag, otherwise the
// pod's service account.
func coreConfig(file, flag string) (*rest.Config, error) {
	if file == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, fmt.Errorf("--%s is needed outside of a pod: %w", flag, err)
		}
		return config, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return config, nil
}

// reviewer returns a client configuration for reviews of a resource, for a webhook's Caller.
func reviewer(config *rest.Config, resource string) (*rest.Config, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Host = base.JoinPath("apis", resource).String()
	return config, nil
}
