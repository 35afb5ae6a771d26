package server

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/version"
	restclient "k8s.io/client-go/rest"

	"triplane/generic/api/discovery"
	"triplane/generic/api/openapi"
	"triplane/generic/api/registry"
	"triplane/generic/base/authorizer"
	"triplane/generic/base/metrics"
	"triplane/generic/guard/admission"
	"triplane/generic/serve/filters"
)

// Config is what a generic server is made of. The three servers of a chain share
// most of it; cmd/triplane copies it for each. Make one with NewConfig.
type Config struct {
	// Options are those of the filters, of which PrepareRun sets InFlight and
	// Terminating.
	filters.Options
	RunOptions
	EndpointOptions
	ProfilingOptions

	// RuleResolver lists a user's rules; nil where no authorizer can.
	RuleResolver authorizer.RuleResolver
	// Admission mutates and validates what is written.
	Admission admission.Chain
	// RESTOptionsGetter gives resources their storage.
	RESTOptionsGetter registry.RESTOptionsGetter

	// Serving is how the outermost server listens; nil where it is only called
	// through its handler, as in tests.
	Serving *SecureServing
	// LoopbackClientConfig is for clients inside this process: it is privileged
	// and its transport calls the outermost server's handler chain. NewConfig
	// sets it; it answers from the time PrepareRun has been called, requests
	// before that wait.
	LoopbackClientConfig *restclient.Config
	// ExternalAddress is the host:port in what clients are answered.
	ExternalAddress string

	// NoStatus serves no /statusz.
	NoStatus bool
	// Version is served at /version.
	Version *version.Info

	// Flags returns the command line's flags with their values, for /flagz; nil
	// serves none.
	Flags func() map[string]string
	// DisabledMetrics are the names of metrics that /metrics leaves out.
	DisabledMetrics []string
	// AllowedLabels restricts the labels of metrics at /metrics.
	AllowedLabels metrics.AllowedLabels
	// EnableLogs serves the files below /var/log at /logs.
	EnableLogs bool

	// HealthChecks are further checks for /healthz, /livez and /readyz;
	// ServiceChecks, of what a restart does not mend, are not for /livez;
	// ReadyChecks are for /readyz alone.
	HealthChecks  []HealthChecker
	ServiceChecks []HealthChecker
	ReadyChecks   []HealthChecker
	// PostStartHooks are hooks of what the configuration is made of, such as
	// authorizers and admission plugins. The innermost server of a chain has them.
	PostStartHooks []PostStartHook
	// Discovery makes the documents at /api and /apis. The servers of a chain
	// share it, so that it lists all groups served in this process.
	Discovery *discovery.Groups
	// EnableDiscovery serves Discovery at /apis. A server that makes a document
	// of its own there, as the aggregator does, turns it off.
	EnableDiscovery bool
	// OpenAPI answers /openapi/v2 and /openapi/v3; nil where they are not served.
	OpenAPI *openapi.Service

	loopback *loopbackTransport
}

// NewConfig returns a configuration with kube-apiserver's defaults and the
// loopback client.
func NewConfig() *Config {
	lb := newLoopbackTransport()
	return &Config{
		Options:              filters.Options{Settings: filters.DefaultSettings(), Metrics: metrics.New()},
		EndpointOptions:      DefaultEndpointOptions(),
		ProfilingOptions:     ProfilingOptions{EnableProfiling: true},
		LoopbackClientConfig: lb.clientConfig(),
		Version:              DefaultVersion(),
		Discovery:            discovery.NewGroups(),
		EnableDiscovery:      true,
		loopback:             lb,
	}
}

// RunInBackground adds a hook that has work run from the server's start to its end; nil adds none.
func (c *Config) RunInBackground(name string, work func(context.Context)) {
	if work == nil {
		return
	}
	c.PostStartHooks = append(c.PostStartHooks, PostStartHook{Name: name, Func: func(hook HookContext) error {
		hook.Go(work)
		return nil
	}})
}

// CompletedConfig is a configuration that New accepts.
type CompletedConfig struct{ *completedConfig }

type completedConfig struct{ Config }

// Complete fills in what was left open, on a copy.
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
		done.Metrics = metrics.New()
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

// New makes a server in front of a delegate.
func (c CompletedConfig) New(name string, delegate DelegationTarget) (*GenericAPIServer, error) {
	if delegate == nil {
		return nil, errors.New("a server needs a delegate; EmptyDelegate() ends the chain")
	}
	return newServer(name, c, delegate)
}
