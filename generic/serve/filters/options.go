package filters

import (
	"time"

	"triplane.dev/generic/serve/requestmetrics"
)

// Options are the options of all filters, and what they share.
type Options struct {
	Settings
	RequestInfoOptions
	WaitGroupOptions
	CrossSiteOptions
	PublicFilesOptions
	TerminationOptions
	TracingOptions
	AuthenticationOptions
	AuditOptions
	AuthorizationOptions
	FormatOptions
	PriorityAndFairnessOptions

	// Metrics counts requests and decisions; nil counts nothing.
	Metrics *requestmetrics.Metrics

	// BuildHandlerChain, where set, returns the filters of the chain, outermost first, from the default ones, which it may
	// extend, reorder or drop. Filters that others depend on say so under Order in their comments. It is called for each
	// chain that is built, and for descriptions of it.
	BuildHandlerChain func(defaults []Filter) []Filter

	stalledLimit time.Duration // tests shorten StalledLimit
}

// Settings are the options that command-line flags set.
type Settings struct {
	GoawayOptions
	RetryAfterOptions
	DeadlineOptions
	HSTSOptions
	CORSOptions
	InFlightOptions
}

// DefaultSettings returns kube-apiserver's defaults.
func DefaultSettings() Settings {
	return Settings{
		DeadlineOptions: DeadlineOptions{RequestTimeout: defaultRequestTimeout},
		InFlightOptions: InFlightOptions{MaxRequestsInFlight: 400, MaxMutatingRequestsInFlight: 200},
	}
}

// Validate returns an error for each flag with an invalid value.
func (s *Settings) Validate() []error {
	var errs []error
	for _, o := range []interface{ Validate() []error }{
		s.GoawayOptions, s.DeadlineOptions, s.HSTSOptions, s.CORSOptions, s.InFlightOptions,
	} {
		errs = append(errs, o.Validate()...)
	}
	return errs
}
