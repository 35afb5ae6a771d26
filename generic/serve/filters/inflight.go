package filters

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/serve/requestmetrics"
)

// InFlightOptions is --max-requests-inflight and
// --max-mutating-requests-inflight.
type InFlightOptions struct {
	// MaxRequestsInFlight bounds the read requests, and MaxMutatingRequestsInFlight the write requests, that
	// execute concurrently; 0 means no limit. Responses that wait for slow clients do not count.
	MaxRequestsInFlight         int
	MaxMutatingRequestsInFlight int
}

// Validate returns an error for each negative limit, and if both limits are 0.
func (o InFlightOptions) Validate() []error {
	var errs []error
	if o.MaxRequestsInFlight < 0 {
		errs = append(errs, errors.New("--max-requests-inflight cannot be negative"))
	}
	if o.MaxMutatingRequestsInFlight < 0 {
		errs = append(errs, errors.New("--max-mutating-requests-inflight cannot be negative"))
	}
	if o.MaxRequestsInFlight+o.MaxMutatingRequestsInFlight <= 0 {
		errs = append(errs, errors.New(
			"--max-requests-inflight and --max-mutating-requests-inflight cannot both be zero"))
	}
	return errs
}

// limiter bounds the requests of one class that execute concurrently.
type limiter struct {
	limit   int64 // 0 means no limit
	current atomic.Int64
	gauge   prometheus.Gauge // nil reports nothing
	// freed, if set, receives an element after a request has left the limiter. Its capacity is 1.
	freed chan struct{}
}

func (l *limiter) enter() bool {
	if n := l.current.Add(1); l.limit > 0 && n > l.limit {
		l.current.Add(-1)
		return false
	}
	if l.gauge != nil {
		l.gauge.Inc()
	}
	return true
}

func (l *limiter) leave() {
	l.current.Add(-1)
	if l.gauge != nil {
		l.gauge.Dec()
	}
	l.signal()
}

// signal wakes one request that waits in occupyWithin.
func (l *limiter) signal() {
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// withInFlightLimits responds 429 when too many read or write requests execute. Long-running requests and health
// probes do not count, and members of system:masters are never rejected.
//
// Options: --max-requests-inflight, --max-mutating-requests-inflight. Metrics:
// apiserver_current_inflight_requests, apiserver_request_terminations_total with code 429. Order: after
// authentication and impersonation, which determine the user; before authorization, which may be costly.
func withInFlightLimits(o InFlightOptions, m *requestmetrics.Metrics) filter {
	limiters := newLimiters(o, m)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			if e.longRunning || isHealthCheck(e.info.Path) {
				next.ServeHTTP(w, r)
				return
			}
			if l := limiters.of(&e.info); e.occupy(l) {
				defer e.Release()
				if e.hasBody(r) {
					defer e.releaseWhileReading(r, func() bool { return e.occupy(l) })()
				}
			} else if e.User == nil || !e.User.InGroup(user.SystemPrivileged) {
				tooManyRequests(w, r, m)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// occupy enters a limiter, and reports whether it had room. release leaves the limiter.
func (e *exchange) occupy(l *limiter) bool {
	if !l.enter() {
		return false
	}
	e.limiter = l
	e.seated.Store(true)
	return true
}

// occupyWithin is like occupy, but waits for room until d has passed or ctx is done. The limiter must have freed
// set.
func (e *exchange) occupyWithin(ctx context.Context, l *limiter, d time.Duration) bool {
	if e.occupy(l) {
		return true
	}
	expired := time.NewTimer(d)
	defer expired.Stop()
	for {
		select {
		case <-l.freed:
		case <-expired.C:
			return false
		case <-ctx.Done():
			return false
		}
		if e.occupy(l) {
			l.signal() // several requests may have left for one signal
			return true
		}
	}
}

// limiters has one limiter for read requests and one for write requests.
type limiters struct{ reads, writes *limiter }

func newLimiters(o InFlightOptions, m *requestmetrics.Metrics) limiters {
	if m == nil {
		m = requestmetrics.New() // not exported
	}
	return limiters{
		reads:  &limiter{limit: int64(o.MaxRequestsInFlight), gauge: m.Requests.InFlight("readOnly")},
		writes: &limiter{limit: int64(o.MaxMutatingRequestsInFlight), gauge: m.Requests.InFlight("mutating")},
	}
}

func (l limiters) of(info *request.Info) *limiter {
	if readOnly(info) {
		return l.reads
	}
	return l.writes
}

func readOnly(info *request.Info) bool {
	switch info.Verb {
	case "get", "list", "watch":
		return true
	}
	return false
}

func tooManyRequests(w http.ResponseWriter, r *http.Request, m *requestmetrics.Metrics) {
	if m != nil {
		m.Requests.Terminated(seriesOf(r, &exchangeOf(r).info), http.StatusTooManyRequests)
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}
