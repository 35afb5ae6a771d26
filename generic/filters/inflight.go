package filters

import (
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"triplane/generic/authentication/user"
	"triplane/generic/metrics"
	"triplane/generic/request"
)

// InFlightOptions is --max-requests-inflight and
// --max-mutating-requests-inflight.
type InFlightOptions struct {
	// MaxRequestsInFlight bounds the requests that read, and
	// MaxMutatingRequestsInFlight those that write, which are answered at the same
	// time; 0 is no limit.
	MaxRequestsInFlight         int
	MaxMutatingRequestsInFlight int
}

// Validate returns an error for negative limits and where both are 0.
func (o InFlightOptions) Validate() []error {
	var errs []error
	if o.MaxRequestsInFlight < 0 {
		errs = append(errs, errors.New("--max-requests-inflight cannot be negative"))
	}
	if o.MaxMutatingRequestsInFlight < 0 {
		errs = append(errs, errors.New("--max-mutating-requests-inflight cannot be negative"))
	}
	if o.MaxRequestsInFlight+o.MaxMutatingRequestsInFlight <= 0 {
		errs = append(errs, errors.New("--max-requests-inflight and --max-mutating-requests-inflight cannot both be zero"))
	}
	return errs
}

// lane is the requests of one kind that may be answered at the same time.
type lane struct {
	limit   int64 // 0 is no limit
	current atomic.Int64
	gauge   prometheus.Gauge
}

func (l *lane) enter() bool {
	if n := l.current.Add(1); l.limit > 0 && n > l.limit {
		l.current.Add(-1)
		return false
	}
	l.gauge.Inc()
	return true
}

func (l *lane) leave() {
	l.current.Add(-1)
	l.gauge.Dec()
}

// withInFlightLimits answers 429 when too many requests that read, or too many
// that write, are being answered. Long-running requests and health probes do not
// count, and members of system:masters are never refused.
//
// Options: --max-requests-inflight, --max-mutating-requests-inflight. Metrics:
// apiserver_current_inflight_requests, apiserver_request_terminations_total with
// code 429. Order: behind authentication and impersonation, which determine the
// user; before authorization, which may be costly.
func withInFlightLimits(o InFlightOptions, m *metrics.Registry) filter {
	gauges := newLaneGauges(m)
	reads := &lane{limit: int64(o.MaxRequestsInFlight), gauge: gauges.reads}
	writes := &lane{limit: int64(o.MaxMutatingRequestsInFlight), gauge: gauges.writes}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			if e.longRunning || aboutHealth(e.info.Path) {
				next.ServeHTTP(w, r)
				return
			}
			l := writes
			if readOnly(&e.info) {
				l = reads
			}
			if l.enter() {
				defer l.leave()
			} else if e.User == nil || !e.User.InGroup(user.SystemPrivileged) {
				tooManyRequests(w, r, m)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// laneGauges count requests that are being answered.
type laneGauges struct{ reads, writes prometheus.Gauge }

func newLaneGauges(m *metrics.Registry) laneGauges {
	if m == nil {
		m = metrics.New() // nobody sees it
	}
	return laneGauges{m.Requests.InFlight("readOnly"), m.Requests.InFlight("mutating")}
}

func (g laneGauges) of(info *request.Info) prometheus.Gauge {
	if readOnly(info) {
		return g.reads
	}
	return g.writes
}

func readOnly(info *request.Info) bool {
	switch info.Verb {
	case "get", "list", "watch":
		return true
	}
	return false
}

func tooManyRequests(w http.ResponseWriter, r *http.Request, m *metrics.Registry) {
	if m != nil {
		m.Requests.Terminated(seriesOf(r, &exchangeOf(r).info), http.StatusTooManyRequests)
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}
