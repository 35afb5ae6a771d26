package server

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/version"
	restclient "k8s.io/client-go/rest"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/serve/healthz"
	"triplane.dev/generic/serve/requestmetrics"
	"triplane.dev/generic/serve/secureserving"
)

// Config is the configuration of a generic server. The three servers of a chain share most of it; the module's
// root package copies it for each. Create it with NewConfig.
type Config struct {
	// Options configures the filters. PrepareRun sets InFlight and Terminating.
	filters.Options
	RunOptions
	EndpointOptions
	ProfilingOptions

	// RuleResolver lists a user's rules; nil if no authorizer supports it.
	RuleResolver authorizer.RuleResolver
	// Admission mutates and validates writes.
	Admission admission.Chain
	// RESTOptionsGetter provides the storage of resources.
	RESTOptionsGetter registry.RESTOptionsGetter

	// Serving is the listener of the outermost server; nil if the server is called only through its handler, for
	// example in tests.
	Serving *secureserving.SecureServing
	// LoopbackClientConfig configures clients inside this process. It is privileged, and its transport calls the
	// handler chain of the outermost server. NewConfig sets it. Requests wait until PrepareRun was called.
	LoopbackClientConfig *restclient.Config
	// ExternalAddress is the host:port that responses contain.
	ExternalAddress string

	// Nested is set for a chain that another chain's filters serve (PrepareNested). It does not register metrics
	// that only one chain of a process can have.
	Nested bool
	// NoStatus disables /statusz.
	NoStatus bool
	// Version is served at /version.
	Version *version.Info
	// Flags returns the command-line flags with their values, for /flagz; nil disables it.
	Flags func() map[string]string
	// DisabledMetrics are the names of metrics that /metrics omits. AllowedLabels restricts the labels there.
	DisabledMetrics []string
	AllowedLabels   metrics.AllowedLabels
	// EnableLogs serves the files below /var/log at /logs.
	EnableLogs bool

	// HealthChecks are additional checks of /healthz, /livez and /readyz. ServiceChecks are failures that a
	// restart does not fix, so /livez omits them. ReadyChecks are checks of /readyz only.
	HealthChecks  []healthz.HealthChecker
	ServiceChecks []healthz.HealthChecker
	ReadyChecks   []healthz.HealthChecker
	// PostStartHooks are hooks of the components of the configuration, such as authorizers and admission plugins.
	// The innermost server of a chain runs them.
	PostStartHooks []PostStartHook
	// Discovery serves the documents at /api and /apis. The servers of a chain share it, so that it lists all
	// groups of this process.
	Discovery *discovery.Groups
	// EnableDiscovery serves Discovery at /apis. A server that serves another document there, as the aggregator
	// does, disables it.
	EnableDiscovery bool
	// OpenAPI serves /openapi/v2 and /openapi/v3; nil disables them.
	OpenAPI *openapi.Service

	loopback *loopbackTransport
}

// NewConfig returns a configuration with kube-apiserver's defaults and a loopback client.
func NewConfig() *Config {
	lb := newLoopbackTransport()
	return &Config{
		Options:              filters.Options{Settings: filters.DefaultSettings(), Metrics: requestmetrics.New()},
		EndpointOptions:      DefaultEndpointOptions(),
		ProfilingOptions:     ProfilingOptions{EnableProfiling: true},
		LoopbackClientConfig: lb.clientConfig(),
		Version:              DefaultVersion(),
		Discovery:            discovery.NewGroups(),
		EnableDiscovery:      true,
		loopback:             lb,
	}
}

// RunInBackground adds a post-start hook that runs work until the server stops. If work is nil it does nothing.
func (c *Config) RunInBackground(name string, work func(context.Context)) {
	if work == nil {
		return
	}
	c.PostStartHooks = append(c.PostStartHooks, PostStartHook{Name: name, Func: func(hook HookContext) error {
		hook.Go(work)
		return nil
	}})
}

// CompletedConfig is a configuration with all defaults.
type CompletedConfig struct{ *completedConfig }

type completedConfig struct{ Config }

// Complete returns a copy with defaults for unset fields.
func (c *Config) Complete() CompletedConfig {
	done := &completedConfig{Config: *c}
	if done.loopback == nil {
		done.loopback = newLoopbackTransport()
		done.LoopbackClientConfig = done.loopback.clientConfig()
	}
	if done.Version == nil {
		done.Version = DefaultVersion()
	}
	if done.Metrics == nil {
		done.Metrics = requestmetrics.New()
	}
	if done.Discovery == nil {
		done.Discovery = discovery.NewGroups()
	}
	if done.RequestTimeout <= 0 {
		done.RequestTimeout = filters.DefaultSettings().RequestTimeout
	}
	if done.ExternalAddress == "" && done.Serving != nil {
		done.ExternalAddress = done.Serving.Address()
	}
	return CompletedConfig{done}
}

// New returns a server in front of a delegate.
func (c CompletedConfig) New(name string, delegate DelegationTarget) (*GenericAPIServer, error) {
	if delegate == nil {
		return nil, errors.New("a server needs a delegate; EmptyDelegate() ends the chain")
	}
	return newServer(name, c, delegate)
}
