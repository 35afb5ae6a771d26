package options

import (
	"fmt"
	"net"
	"regexp"
	"time"

	"github.com/spf13/pflag"

	"triplane/generic/filters"
	"triplane/generic/server"
)

// ServerRun is how the server answers and stops.
type ServerRun struct {
	AdvertiseAddress net.IP
	ExternalHost     string

	CORSAllowedOrigins                  []string
	HSTSDirectives                      []string
	GoawayChance                        float64
	LivezGracePeriod                    time.Duration
	MaxRequestsInFlight                 int
	MaxMutatingRequestsInFlight         int
	MinRequestTimeout                   int
	RequestTimeout                      time.Duration
	ShutdownDelayDuration               time.Duration
	ShutdownSendRetryAfter              bool
	ShutdownWatchTerminationGracePeriod time.Duration
}

// NewServerRun returns the defaults.
func NewServerRun() *ServerRun {
	return &ServerRun{
		MaxRequestsInFlight:         400,
		MaxMutatingRequestsInFlight: 200,
		MinRequestTimeout:           1800,
		RequestTimeout:              time.Minute,
	}
}

// AddFlags binds the flags.
func (o *ServerRun) AddFlags(fs *pflag.FlagSet) {
	fs.IPVar(&o.AdvertiseAddress, "advertise-address", o.AdvertiseAddress,
		"The IP address that members of the cluster are told. If blank, --bind-address is used; if that is unspecified, the address of the host's default interface.")
	fs.StringVar(&o.ExternalHost, "external-hostname", o.ExternalHost,
		"The host name of URLs that clients are told.")
	fs.StringSliceVar(&o.CORSAllowedOrigins, "cors-allowed-origins", o.CORSAllowedOrigins,
		"Origins that are allowed for CORS, as regular expressions, comma separated. Anchor them: '^https://example\\.com$'. Empty means no CORS.")
	fs.StringSliceVar(&o.HSTSDirectives, "strict-transport-security-directives", o.HSTSDirectives,
		"Directives of the Strict-Transport-Security header, comma separated, for example 'max-age=31536000,includeSubDomains'. Empty sends no header.")
	fs.Float64Var(&o.GoawayChance, "goaway-chance", o.GoawayChance,
		"The chance, for each request, that an HTTP/2 client is told to connect anew, so that clients spread over replicas. 0 is off, 0.02 the most.")
	fs.DurationVar(&o.LivezGracePeriod, "livez-grace-period", o.LivezGracePeriod,
		"How long the server may take to start until unfinished hooks make /livez fail.")
	fs.IntVar(&o.MaxRequestsInFlight, "max-requests-inflight", o.MaxRequestsInFlight,
		"How many reading requests are served at once; more are answered 429. Zero is no limit.")
	fs.IntVar(&o.MaxMutatingRequestsInFlight, "max-mutating-requests-inflight", o.MaxMutatingRequestsInFlight,
		"How many writing requests are served at once; more are answered 429. Zero is no limit.")
	fs.IntVar(&o.MinRequestTimeout, "min-request-timeout", o.MinRequestTimeout,
		"The least number of seconds after which a watch is ended; each watch gets a random time above it.")
	fs.DurationVar(&o.RequestTimeout, "request-timeout", o.RequestTimeout,
		"How long a request may take that is no watch, proxy or the like.")
	fs.DurationVar(&o.ShutdownDelayDuration, "shutdown-delay-duration", o.ShutdownDelayDuration,
		"How long the server goes on serving after it was told to stop. /readyz fails in that time, so that load balancers look elsewhere.")
	fs.BoolVar(&o.ShutdownSendRetryAfter, "shutdown-send-retry-after", o.ShutdownSendRetryAfter,
		"Keep listening while requests in flight finish, and refuse new ones with a Retry-After header, rather than refuse connections.")
	fs.DurationVar(&o.ShutdownWatchTerminationGracePeriod, "shutdown-watch-termination-grace-period", o.ShutdownWatchTerminationGracePeriod,
		"How long watches may take to end at shutdown.")
}

// Validate returns what is wrong.
func (o *ServerRun) Validate() []error {
	var errs []error
	for _, d := range []struct {
		flag  string
		value int64
	}{
		{"livez-grace-period", int64(o.LivezGracePeriod)},
		{"max-requests-inflight", int64(o.MaxRequestsInFlight)},
		{"max-mutating-requests-inflight", int64(o.MaxMutatingRequestsInFlight)},
		{"request-timeout", int64(o.RequestTimeout)},
		{"min-request-timeout", int64(o.MinRequestTimeout)},
		{"shutdown-delay-duration", int64(o.ShutdownDelayDuration)},
		{"shutdown-watch-termination-grace-period", int64(o.ShutdownWatchTerminationGracePeriod)},
	} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("--%s cannot be negative", d.flag))
		}
	}
	if o.GoawayChance < 0 || o.GoawayChance > 0.02 {
		errs = append(errs, fmt.Errorf("--goaway-chance must be between 0 and 0.02"))
	}
	if o.MaxRequestsInFlight+o.MaxMutatingRequestsInFlight <= 0 {
		errs = append(errs, fmt.Errorf("--max-requests-inflight and --max-mutating-requests-inflight cannot both be zero"))
	}
	if _, err := filters.CompileOrigins(o.CORSAllowedOrigins); err != nil {
		errs = append(errs, fmt.Errorf("--cors-allowed-origins: %w", err))
	}
	for _, d := range o.HSTSDirectives {
		if !hstsDirective.MatchString(d) {
			errs = append(errs, fmt.Errorf("--strict-transport-security-directives: %q is not max-age=SECONDS, includeSubDomains or preload", d))
		}
	}
	return errs
}

var hstsDirective = regexp.MustCompile(`^(max-age=[0-9]+|includeSubDomains|preload)$`)

// ApplyTo sets what the options say.
func (o *ServerRun) ApplyTo(c *server.Config) {
	c.CORSAllowedOrigins = o.CORSAllowedOrigins
	c.HSTSDirectives = o.HSTSDirectives
	c.GoawayChance = o.GoawayChance
	c.LivezGracePeriod = o.LivezGracePeriod
	c.MaxRequestsInFlight = o.MaxRequestsInFlight
	c.MaxMutatingRequestsInFlight = o.MaxMutatingRequestsInFlight
	c.MinRequestTimeout = time.Duration(o.MinRequestTimeout) * time.Second
	c.RequestTimeout = o.RequestTimeout
	c.ShutdownDelayDuration = o.ShutdownDelayDuration
	c.ShutdownSendRetryAfter = o.ShutdownSendRetryAfter
	c.ShutdownWatchTerminationGracePeriod = o.ShutdownWatchTerminationGracePeriod
}
