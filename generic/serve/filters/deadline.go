package filters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/serve/requestmetrics"
)

const defaultRequestTimeout = time.Minute

// DeadlineOptions is --request-timeout.
type DeadlineOptions struct {
	// RequestTimeout bounds the duration of requests that are not long-running; 0 means no limit.
	RequestTimeout time.Duration
	// Bodies tracks bodies that have not arrived, so that shutdown can bound their time; nil tracks none.
	Bodies *Bodies
}

// Validate returns an error for a negative duration.
func (o DeadlineOptions) Validate() []error {
	if o.RequestTimeout < 0 {
		return []error{errors.New("--request-timeout cannot be negative")}
	}
	return nil
}

// WriteGrace is the time after a request's deadline in which the response may be written.
const WriteGrace = 2 * time.Second

// withDeadline bounds the duration of a request by the server's limit, or by ?timeout= if it is shorter. Handlers
// honour the context. If a handler returns without a response after the deadline, the response is 504.
// Long-running requests have no deadline.
//
// The connection has the deadlines too, so that slow clients cannot occupy a request forever. A body must arrive
// before the request's deadline, and the client must read the response at most WriteGrace later.
//
// Options: --request-timeout. Metrics: apiserver_request_terminations_total with code 504. Order: before
// everything that may wait (authentication webhooks, queues, admission), so that the deadline includes it.
func withDeadline(o DeadlineOptions, m *requestmetrics.Metrics) filter {
	limit := o.RequestTimeout
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			if e.longRunning {
				// The listener bounds the writes of all other requests.
				_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // there may be no connection
				if c := connectionOf(r.Context()); c != nil && !e.boundsStalls() {
					c.AddPatient(1)
					defer c.AddPatient(-1)
				}
				next.ServeHTTP(w, r)
				return
			}
			timeout, err := timeoutOf(r, limit)
			if err != nil {
				responsewriters.WriteError(w, r, apierrors.NewBadRequest(err.Error()))
				return
			}
			if timeout > 0 {
				e.SetDeadline(e.Received.Add(timeout))
				if timeout < limit {
					_ = http.NewResponseController(w).SetWriteDeadline(e.Received.Add(timeout + WriteGrace))
				}
				if timeout != limit && time.Since(e.Received) >= timeout {
					timedOut(w, r, m) // the client's timeout may have passed already
					return
				}
			}
			if r.ContentLength != 0 && timeout > 0 {
				defer o.Bodies.await(w, r, e.Received.Add(timeout))()
			}
			next.ServeHTTP(w, r)
			if e.status == 0 && !e.hijacked && timeout > 0 && errors.Is(e.Err(), context.DeadlineExceeded) {
				timedOut(w, r, m)
			}
		})
	}
}

// timedOut responds to a request whose deadline has passed.
func timedOut(w http.ResponseWriter, r *http.Request, m *requestmetrics.Metrics) {
	if m != nil {
		m.Requests.Terminated(seriesOf(r, &exchangeOf(r).info), http.StatusGatewayTimeout)
	}
	responsewriters.WriteError(w, r, request.TimedOut())
}

// timeoutOf returns the shorter of the client's timeout and the limit; 0 means none.
func timeoutOf(r *http.Request, limit time.Duration) (time.Duration, error) {
	if r.URL.RawQuery == "" {
		return limit, nil
	}
	text, _ := request.QueryValue(r.URL.RawQuery, "timeout")
	if text == "" {
		return limit, nil
	}
	wanted, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("invalid timeout specified in the request URL - %w", err)
	}
	if wanted > 0 && (limit <= 0 || wanted < limit) {
		return wanted, nil
	}
	return limit, nil
}
