package server

import (
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/version"
	restclient "k8s.io/client-go/rest"

	"triplane/generic/admission"
	"triplane/generic/authentication"
	"triplane/generic/authorization/authorizer"
	"triplane/generic/metrics"
	"triplane/generic/registry"
	"triplane/generic/request"
)

// Config is what a generic server is made of. The three servers of a chain share
// most of it; cmd/triplane copies it for each.
type Config struct {
	// Authentication says who makes a request; nil lets everybody in as
	// system:anonymous.
	Authentication authentication.Request
	// Authorization decides what they may; nil allows everything.
	Authorization authorizer.Authorizer
	// RuleResolver lists a user's rules; nil where no authorizer can.
	RuleResolver authorizer.RuleResolver
	// Admission judges and changes what is written.
	Admission admission.Chain
	// RESTOptionsGetter gives resources their storage.
	RESTOptionsGetter registry.RESTOptionsGetter

	// Serving is how the outermost server listens.
	Serving *SecureServing
	// LoopbackClientConfig is for clients inside this process: it is privileged
	// and its transport calls the outermost server's handler chain. NewConfig
	// sets it; it answers from the time PrepareRun has been called.
	LoopbackClientConfig *restclient.Config
	// ExternalAddress is the host:port that clients are told.
	ExternalAddress string

	RequestTimeout                      time.Duration
	MinRequestTimeout                   time.Duration
	ShutdownDelayDuration               time.Duration
	ShutdownWatchTerminationGracePeriod time.Duration
	ShutdownSendRetryAfter              bool
	LivezGracePeriod                    time.Duration
	MaxRequestsInFlight                 int
	MaxMutatingRequestsInFlight         int
	MaxRequestBodyBytes                 int64
	GoawayChance                        float64
	EnableProfiling                     bool
	EnableContentionProfiling           bool
	CORSAllowedOrigins                  []string
	HSTSDirectives                      []string
	// LongRunning tells the requests without a deadline: watches, proxies, exec.
	LongRunning func(r *http.Request, info *request.Info) bool
	Version     *version.Info

	// HealthChecks are further checks for /healthz, /livez and /readyz.
	HealthChecks []HealthChecker
	// Metrics collects what /metrics tells; one registry a process's server.
	Metrics *metrics.Registry
}

// SecureServing is the TLS listener; see serving.go.
type SecureServing struct{}
