package filters

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triplane/generic/base/metrics"
	"triplane/generic/base/request"
	"triplane/generic/base/user"
)

// InFlightOptions is --max-requests-inflight and
// --max-mutating-requests-inflight.
type InFlightOptions struct {
	// MaxRequestsInFlight bounds the requests that read, and
	// MaxMutatingRequestsInFlight those that write, which are answered at the same
	// time; 0 is no limit. Responses that wait for their clients do not count.
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
	gauge   prometheus.Gauge // nil where nobody sees it
	// left, where set, has an element after a request left the lane. Its capacity is 1.
	left chan struct{}
}

func (l *lane) enter() bool {
	if n := l.current.Add(1); l.limit > 0 && n > l.limit {
		l.current.Add(-1)
		return false
	}
	if l.gauge != nil {
		l.gauge.Inc()
	}
	return true
}

func (l *lane) leave() {
	l.current.Add(-1)
	if l.gauge != nil {
		l.gauge.Dec()
	}
	l.signal()
}

// signal wakes one request that waits in occupyWithin.
func (l *lane) signal() {
	select {
	case l.left <- struct{}{}:
	default:
	}
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
	lanes := newLanes(o, m)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			if e.longRunning || aboutHealth(e.info.Path) {
				next.ServeHTTP(w, r)
				return
			}
			if l := lanes.of(&e.info); e.occupy(l) {
				defer e.release()
				if e.hasBody(r) {
					defer e.giveBackWhileReading(r, func() bool { return e.occupy(l) })()
				}
			} else if e.User == nil || !e.User.InGroup(user.SystemPrivileged) {
				tooManyRequests(w, r, m)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// occupy enters a lane, which the request leaves when it is released, and reports whether there was room.
func (e *exchange) occupy(l *lane) bool {
	if !l.enter() {
		return false
	}
	e.lane = l
	e.seated.Store(true)
	return true
}

// occupyWithin is occupy, but waits for room until the time is over or the context is done. The lane has left set.
func (e *exchange) occupyWithin(ctx context.Context, l *lane, d time.Duration) bool {
	if e.occupy(l) {
		return true
	}
	expired := time.NewTimer(d)
	defer expired.Stop()
	for {
		select {
		case <-l.left:
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

// lanes are those of requests that read, and of those that write.
type lanes struct{ reads, writes *lane }

func newLanes(o InFlightOptions, m *metrics.Registry) lanes {
	if m == nil {
		m = metrics.New() // nobody sees it
	}
	return lanes{
		reads:  &lane{limit: int64(o.MaxRequestsInFlight), gauge: m.Requests.InFlight("readOnly")},
		writes: &lane{limit: int64(o.MaxMutatingRequestsInFlight), gauge: m.Requests.InFlight("mutating")},
	}
}

func (l lanes) of(info *request.Info) *lane {
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

func tooManyRequests(w http.ResponseWriter, r *http.Request, m *metrics.Registry) {
	if m != nil {
		m.Requests.Terminated(seriesOf(r, &exchangeOf(r).info), http.StatusTooManyRequests)
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}
