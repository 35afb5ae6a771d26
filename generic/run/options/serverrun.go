package options

import (
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"triplane/generic/guard/flowcontrol"
	"triplane/generic/serve/filters"
	"triplane/generic/serve/server"
)

// ServerRun is how the server answers and stops.
type ServerRun struct {
	AdvertiseAddress net.IP
	// AdvertisePort is announced with AdvertiseAddress; 0 is the port that is served.
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
		"The IP address that members of the cluster are given. If blank, --bind-address is used; if that is unspecified, the address of the host's default interface.")
	fs.IntVar(&o.AdvertisePort, "advertise-port", o.AdvertisePort, "The port that members of the cluster are given. 0 is --secure-port.")
	fs.StringVar(&o.ExternalHost, "external-hostname", o.ExternalHost,
		"The host name of URLs that clients are given.")
	fs.StringSliceVar(&o.CORSAllowedOrigins, "cors-allowed-origins", o.CORSAllowedOrigins,
		"Origins that are allowed for CORS, as regular expressions, comma separated. Anchor them: '^https://example\\.com$'. Empty means no CORS.")
	fs.StringSliceVar(&o.HSTSDirectives, "strict-transport-security-directives", o.HSTSDirectives,
		"Directives of the Strict-Transport-Security header, comma separated, for example 'max-age=31536000,includeSubDomains'. Empty sends no header.")
	fs.Float64Var(&o.GoawayChance, "goaway-chance", o.GoawayChance,
		"The chance, for each request, that an HTTP/2 client is asked to connect anew, so that clients spread over replicas. 0 is off, 0.02 the most.")
	fs.DurationVar(&o.LivezGracePeriod, "livez-grace-period", o.LivezGracePeriod,
		"How long the server may take to start until unfinished hooks make /livez fail.")
	fs.IntVar(&o.MaxRequestsInFlight, "max-requests-inflight", o.MaxRequestsInFlight,
		"With --enable-priority-and-fairness, this and --max-mutating-requests-inflight are the seats of the server. Without, how many reading requests are served at once; more are answered 429, and zero is no limit.")
	fs.IntVar(&o.MaxMutatingRequestsInFlight, "max-mutating-requests-inflight", o.MaxMutatingRequestsInFlight,
		"The same for writing requests.")
	fs.BoolVar(&o.EnablePriorityAndFairness, "enable-priority-and-fairness", o.EnablePriorityAndFairness,
		"Queue and dispatch requests as FlowSchemas and PriorityLevelConfigurations say, rather than limit those in flight.")
	fs.Var((*seconds)(&o.MinRequestTimeout), "min-request-timeout",
		"The least number of seconds after which a watch is ended; each watch gets a random time above it.")
	fs.DurationVar(&o.RequestTimeout, "request-timeout", o.RequestTimeout,
		"How long a request may take that is no watch, proxy or the like.")
	fs.DurationVar(&o.ShutdownDelayDuration, "shutdown-delay-duration", o.ShutdownDelayDuration,
		"How long the server goes on serving after it was asked to stop. /readyz fails in that time, so that load balancers look elsewhere.")
	fs.BoolVar(&o.ShutdownSendRetryAfter, "shutdown-send-retry-after", o.ShutdownSendRetryAfter,
		"Keep listening while requests in flight finish, and refuse new ones with a Retry-After header, rather than refuse connections.")
	fs.DurationVar(&o.ShutdownWatchTerminationGracePeriod, "shutdown-watch-termination-grace-period", o.ShutdownWatchTerminationGracePeriod,
		"How long watches may take to end at shutdown.")
}

// Validate returns what is wrong.
func (o *ServerRun) Validate() []error {
	endpoints := server.EndpointOptions{MinRequestTimeout: o.MinRequestTimeout}
	return slices.Concat(o.Settings.Validate(), o.RunOptions.Validate(), endpoints.Validate())
}

// ApplyTo sets what the options say.
func (o *ServerRun) ApplyTo(c *server.Config) {
	c.Settings, c.RunOptions = o.Settings, o.RunOptions
	c.MinRequestTimeout, c.BuildHandlerChain = o.MinRequestTimeout, o.BuildHandlerChain
}

// seconds is a duration as a flag that is a whole number of seconds.
type seconds time.Duration

// Set implements pflag.Value.
func (s *seconds) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		return err
	}
	if n > math.MaxInt64/int64(time.Second) {
		return fmt.Errorf("%d seconds are more than can be counted", n)
	}
	*s = seconds(time.Duration(n) * time.Second)
	return nil
}

// String implements pflag.Value.
func (s *seconds) String() string { return strconv.FormatInt(int64(time.Duration(*s)/time.Second), 10) }

// Type implements pflag.Value.
func (s *seconds) Type() string { return "int" }

// FlowControl queues requests by the default objects until those of the API are known. It returns nil
// where requests in flight are limited instead. objects is for estimates.
func (o *ServerRun) FlowControl(objects flowcontrol.Objects) *flowcontrol.Controller {
	if !o.EnablePriorityAndFairness {
		return nil
	}
	return flowcontrol.New(flowcontrol.Config{
		Reads: o.MaxRequestsInFlight, Writes: o.MaxMutatingRequestsInFlight,
		Schemas: flowcontrol.DefaultSchemas(), Levels: flowcontrol.DefaultLevels(), Objects: objects,
	})
}
