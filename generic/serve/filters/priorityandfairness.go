package filters

import (
	"net/http"
	"time"

	"triplane/generic/base/metrics"
	"triplane/generic/base/request"
	"triplane/generic/guard/flowcontrol"
)

// PriorityAndFairnessOptions is what API priority and fairness needs.
type PriorityAndFairnessOptions struct {
	// FlowControl decides when requests execute; nil leaves that to the limits of
	// requests in flight.
	FlowControl *flowcontrol.Controller
}

// withPriorityAndFairness lets a request execute when its priority level has
// seats for it, and answers 429 where it cannot wait for that. Watches are
// controlled while they initialize, other long-running requests not at all. A
// request that waits for its client, to take the response or to send the body, gives
// the seats back (stalls); with its body there it waits for others.
//
// Options: --enable-priority-and-fairness. Metrics: apiserver_flowcontrol_*,
// apiserver_current_inflight_requests, apiserver_request_terminations_total with
// code 429. Order: behind authentication and impersonation, which determine the
// user; before authorization, which may be costly.
func withPriorityAndFairness(o PriorityAndFairnessOptions, limits InFlightOptions, m *metrics.Registry) filter {
	control := o.FlowControl
	if control == nil {
		return withInFlightLimits(limits, m)
	}
	lanes := newLanes(InFlightOptions{}, m)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			if e.longRunning && !e.isWatch() {
				next.ServeHTTP(w, r)
				return
			}
			if !e.enter(control, lanes, &e.first, r.URL.RawQuery, w.Header()) {
				tooManyRequests(w, r, m)
				return
			}
			defer e.release()
			if e.hasBody(r) {
				defer e.giveBackWhileReading(r, func() bool {
					return e.enter(control, lanes, new(flowcontrol.Ticket), r.URL.RawQuery, http.Header{})
				})()
			}
			next.ServeHTTP(w, r)
		})
	}
}

// enter waits for seats, and reports whether the request has them.
func (e *exchange) enter(
	control *flowcontrol.Controller, lanes lanes, t *flowcontrol.Ticket, query string, header http.Header,
) bool {
	control.Classify(flowcontrol.Request{User: e.User, Info: &e.info, Query: query}, t)
	setFlowHeaders(header, t)
	rejection := t.Enter(e, e.patience())
	e.Spent(request.QueueWait, t.Waited())
	if rejection != "" {
		return false
	}
	e.ticket = t
	if e.longRunning {
		e.Initialized = t.Leave
	} else {
		e.lane = lanes.of(&e.info)
		e.lane.enter()
	}
	e.seated.Store(true)
	return true
}

func (e *exchange) isWatch() bool { return e.info.IsResourceRequest && e.info.Verb == "watch" }

// patience is how long the request may wait in a queue: a quarter of its time, so
// that enough of it is left to execute.
func (e *exchange) patience() time.Duration {
	if d, ok := e.Deadline(); ok {
		return d.Sub(e.Received) / 4
	}
	return defaultRequestTimeout / 4
}

// setFlowHeaders names the schema and the level by which the request was handled.
func setFlowHeaders(h http.Header, t *flowcontrol.Ticket) {
	if uid := t.FlowSchemaUID(); uid != nil {
		h["X-Kubernetes-Pf-Flowschema-Uid"] = uid
	}
	if uid := t.PriorityLevelUID(); uid != nil {
		h["X-Kubernetes-Pf-Prioritylevel-Uid"] = uid
	}
}
