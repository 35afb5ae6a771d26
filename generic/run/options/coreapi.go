package options

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// CoreAPI is how an extension API server reaches the API server that is in front of it.
type CoreAPI struct {
	// KubeconfigFile is "" in a pod, whose service account is used.
	KubeconfigFile string
}

// AddFlags binds the flags.
func (o *CoreAPI) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.KubeconfigFile, "kubeconfig", o.KubeconfigFile,
		"File that says how to reach the core API server, whose namespaces, admission webhooks and policies and flow schemas are followed. If blank, the service account of the pod that the server runs in.")
}

// Config is the client configuration.
func (o *CoreAPI) Config() (*rest.Config, error) { return coreConfig(o.KubeconfigFile, "kubeconfig") }

// coreConfig is how the core API server is reached: by a file that a flag gives, or else by
// the service account of the pod.
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

// reviewer is a configuration to post reviews to a resource, for a webhook's Caller.
func reviewer(config *rest.Config, resource string) (*rest.Config, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Host = base.JoinPath("apis", resource).String()
	return config, nil
}
