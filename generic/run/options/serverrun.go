package options

import (
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"triplane.dev/generic/guard/flowcontrol"
	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/serve/server"
)

// ServerRun configures request handling and shutdown.
type ServerRun struct {
	AdvertiseAddress net.IP
	// AdvertisePort is published with AdvertiseAddress; 0 means the serving port.
	AdvertisePort int
	ExternalHost  string

	filters.Settings
	server.RunOptions
	MinRequestTimeout         time.Duration
	EnablePriorityAndFairness bool
	// BuildHandlerChain changes the filters of requests; see filters.Options. It has no flag.
	BuildHandlerChain func(defaults []filters.Filter) []filters.Filter
}

// NewServerRun returns the defaults.
func NewServerRun() *ServerRun {
	return &ServerRun{
		Settings:          filters.DefaultSettings(),
		MinRequestTimeout: server.DefaultEndpointOptions().MinRequestTimeout,

		EnablePriorityAndFairness: true,
	}
}

// AddFlags binds the flags.
func (o *ServerRun) AddFlags(fs *pflag.FlagSet) {
	fs.IPVar(&o.AdvertiseAddress, "advertise-address", o.AdvertiseAddress,
		"The IP address that is published to members of the cluster. If blank, --bind-address is used; if that "+
			"is unspecified, the address of the host's default interface.")
	fs.IntVar(&o.AdvertisePort, "advertise-port", o.AdvertisePort,
		"The port that is published to members of the cluster. 0 means --secure-port.")
	fs.StringVar(&o.ExternalHost, "external-hostname", o.ExternalHost,
		"The host name in URLs of responses.")
	fs.StringSliceVar(&o.CORSAllowedOrigins, "cors-allowed-origins", o.CORSAllowedOrigins,
		"Allowed origins for CORS, as regular expressions, comma separated. Anchor them: "+
			"'^https://example\\.com$'. Empty disables CORS.")
	fs.StringSliceVar(&o.HSTSDirectives, "strict-transport-security-directives", o.HSTSDirectives,
		"Directives of the Strict-Transport-Security header, comma separated, for example "+
			"'max-age=31536000,includeSubDomains'. Empty sends no header.")
	fs.Float64Var(&o.GoawayChance, "goaway-chance", o.GoawayChance,
		"The probability that a request closes its HTTP/2 connection, so that clients reconnect and spread over "+
			"replicas. 0 disables it, the maximum is 0.02.")
	fs.DurationVar(&o.LivezGracePeriod, "livez-grace-period", o.LivezGracePeriod,
		"How long after the start unfinished hooks do not fail /livez.")
	fs.IntVar(&o.MaxRequestsInFlight, "max-requests-inflight", o.MaxRequestsInFlight,
		"With --enable-priority-and-fairness, the sum of this and --max-mutating-requests-inflight is the number "+
			"of seats. Otherwise, how many read requests are served concurrently; the response to more is 429, and 0 "+
			"means no limit.")
	fs.IntVar(&o.MaxMutatingRequestsInFlight, "max-mutating-requests-inflight", o.MaxMutatingRequestsInFlight,
		"The same for write requests.")
	fs.BoolVar(&o.EnablePriorityAndFairness, "enable-priority-and-fairness", o.EnablePriorityAndFairness,
		"Queue and dispatch requests according to FlowSchemas and PriorityLevelConfigurations, instead of "+
			"limiting the requests in flight.")
	fs.Var((*seconds)(&o.MinRequestTimeout), "min-request-timeout",
		"The minimum duration of a watch in seconds; each watch ends after a random time above it.")
	fs.DurationVar(&o.RequestTimeout, "request-timeout", o.RequestTimeout,
		"The timeout of requests, except for long-running ones such as watches and proxies.")
	fs.DurationVar(&o.ShutdownDelayDuration, "shutdown-delay-duration", o.ShutdownDelayDuration,
		"How long the server still serves after a termination signal. Meanwhile /readyz fails, so that load "+
			"balancers stop sending requests.")
	fs.BoolVar(&o.ShutdownSendRetryAfter, "shutdown-send-retry-after", o.ShutdownSendRetryAfter,
		"Keep listening while requests in flight complete, and reject new requests with a Retry-After header, "+
			"instead of rejecting connections.")
	fs.DurationVar(&o.ShutdownWatchTerminationGracePeriod, "shutdown-watch-termination-grace-period",
		o.ShutdownWatchTerminationGracePeriod,
		"How long shutdown waits for watches to end.")
}

// Validate returns an error for each invalid value.
func (o *ServerRun) Validate() []error {
	endpoints := server.EndpointOptions{MinRequestTimeout: o.MinRequestTimeout}
	return slices.Concat(o.Settings.Validate(), o.RunOptions.Validate(), endpoints.Validate(),
		validateOrigins(o.CORSAllowedOrigins))
}

// validateOrigins requires that each expression is anchored at both ends. Like kube-apiserver it looks for the anchors
// anywhere.
func validateOrigins(patterns []string) (errs []error) {
	for _, p := range patterns {
		if !strings.Contains(p, "^") && !strings.Contains(p, "//") || !strings.ContainsAny(p, "$:") {
			errs = append(errs, fmt.Errorf("--cors-allowed-origins: %q must match the entire host: begin it with \"^\" "+
				"or \"//\", and end it with \"$\" or \":\" and a port, as in '//example\\.com(:|$)'", p))
		}
	}
	return errs
}

// ApplyTo applies the options.
func (o *ServerRun) ApplyTo(c *server.Config) {
	c.Settings, c.RunOptions = o.Settings, o.RunOptions
	c.MinRequestTimeout, c.BuildHandlerChain = o.MinRequestTimeout, o.BuildHandlerChain
}

// seconds is the value of a duration flag in whole seconds.
type seconds time.Duration

// Set implements pflag.Value.
func (s *seconds) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		return err
	}
	if n > math.MaxInt64/int64(time.Second) {
		return fmt.Errorf("%d seconds overflow a duration", n)
	}
	*s = seconds(time.Duration(n) * time.Second)
	return nil
}

// String implements pflag.Value.
func (s *seconds) String() string { return strconv.FormatInt(int64(time.Duration(*s)/time.Second), 10) }

// Type implements pflag.Value.
func (s *seconds) Type() string { return "int" }

// FlowControl returns the controller of priority and fairness, with default objects until those of the API are
// read. It returns nil if priority and fairness is disabled. objects provides the counts for estimates.
func (o *ServerRun) FlowControl(objects flowcontrol.Objects) *flowcontrol.Controller {
	if !o.EnablePriorityAndFairness {
		return nil
	}
	return flowcontrol.New(flowcontrol.Config{
		Reads: o.MaxRequestsInFlight, Writes: o.MaxMutatingRequestsInFlight,
		Schemas: flowcontrol.DefaultSchemas(), Levels: flowcontrol.DefaultLevels(), Objects: objects,
	})
}
