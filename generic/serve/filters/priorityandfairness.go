package filters

import (
	"net/http"
	"time"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/flowcontrol"
	"triplane.dev/generic/serve/requestmetrics"
)

// PriorityAndFairnessOptions configures API priority and fairness.
type PriorityAndFairnessOptions struct {
	// FlowControl queues requests; nil applies the limits of InFlightOptions instead.
	FlowControl *flowcontrol.Controller
}

// withPriorityAndFairness executes a request when its priority level has seats for it. It responds 429 if the
// queue rejects the request. Watches occupy seats while they initialize, other long-running requests do not.
//
// A request that waits for its client, to read the response or to send the body, releases its seats (see stalls).
// After its body has arrived it queues again.
//
// Options: --enable-priority-and-fairness. Metrics: apiserver_flowcontrol_*, apiserver_current_inflight_requests,
// apiserver_request_terminations_total with code 429. Order: after authentication and impersonation, which
// determine the user; before authorization, which may be costly.
func withPriorityAndFairness(o PriorityAndFairnessOptions, limits InFlightOptions, m *requestmetrics.Metrics) filter {
	control := o.FlowControl
	if control == nil {
		return withInFlightLimits(limits, m)
	}
	limiters := newLimiters(InFlightOptions{}, m)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			if e.longRunning && !e.isWatch() {
				next.ServeHTTP(w, r)
				return
			}
			if !e.enter(control, limiters, &e.first, r.URL.RawQuery, w.Header()) {
				tooManyRequests(w, r, m)
				return
			}
			if !e.isWatch() { // withExchange releases the seats of others
				defer e.Release()
			}
			if e.hasBody(r) {
				defer e.releaseWhileReading(r, func() bool {
					return e.enter(control, limiters, new(flowcontrol.Ticket), r.URL.RawQuery, http.Header{})
				})()
			}
			next.ServeHTTP(w, r)
		})
	}
}

// enter waits for seats, and reports whether the request got them.
func (e *exchange) enter(
	control *flowcontrol.Controller, limiters limiters, t *flowcontrol.Ticket, query string, header http.Header,
) bool {
	control.ClassifyIn(e.Workspace, flowcontrol.Request{User: e.flowUser(), Info: &e.info, Query: query}, t)
	setFlowHeaders(header, t)
	rejection := t.Enter(e, e.queueTimeout())
	e.Spent(request.QueueWait, t.Waited())
	if rejection != "" {
		return false
	}
	e.ticket = t
	if !e.longRunning {
		e.limiter = limiters.of(&e.info)
		e.limiter.enter()
	}
	e.seated.Store(true)
	return true
}

// flowUser returns the user by which flow schemas classify a request. In a workspace, its administrators choose the
// names and groups of impersonated users and service accounts, which therefore match no schema of the server's own.
func (e *exchange) flowUser() *user.Info {
	_, _, account := user.ServiceAccount(e.User.Name)
	if e.Workspace == "" || !e.Impersonated && !account {
		return e.User
	}
	return &user.Info{Name: e.Workspace + "/" + e.User.Name, Groups: []string{user.AllAuthenticated}}
}

func (e *exchange) isWatch() bool { return e.info.IsResourceRequest && e.info.Verb == "watch" }

// queueTimeout returns how long the request may wait in a queue: a quarter of its timeout, so that enough time
// remains to execute.
func (e *exchange) queueTimeout() time.Duration {
	if d, ok := e.Deadline(); ok {
		return d.Sub(e.Received) / 4
	}
	return defaultRequestTimeout / 4
}

// setFlowHeaders sets the headers with the flow schema and the priority level of the request.
func setFlowHeaders(h http.Header, t *flowcontrol.Ticket) {
	if uid := t.FlowSchemaUID(); uid != nil {
		h["X-Kubernetes-Pf-Flowschema-Uid"] = uid
	}
	if uid := t.PriorityLevelUID(); uid != nil {
		h["X-Kubernetes-Pf-Prioritylevel-Uid"] = uid
	}
}
