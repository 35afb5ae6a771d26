package filters

import (
	"net/http"
	"sync/atomic"
	"time"

	"triplane/generic/base/authorizer"
	"triplane/generic/base/request"
	"triplane/generic/base/timeslice"
	"triplane/generic/guard/flowcontrol"
)

// exchange is all that the chain keeps of a request while it is answered.
type exchange struct {
	request.State
	info request.Info
	responseWriter
	// client is the request as it came.
	client *http.Request
	stalls *stalls
	// ticket has the seats of the request; nil where priority and fairness does not control it. It
	// is first, or another one after the request has waited for its body.
	ticket *flowcontrol.Ticket
	// lane counts the request while it executes; nil where nobody does.
	lane *lane
	// seated is set while the request occupies what lets it execute; release clears it.
	seated      atomic.Bool
	longRunning bool
	hijacked    bool
	sandbox     bool // restrict applies to a proxied response
	// Room for what the filters need once, so that it is not allocated apart.
	attributes authorizer.Attributes
	first      flowcontrol.Ticket
	auditID    [1]string
}

// exchangeOf finds the exchange behind the chain's own requests.
func exchangeOf(r *http.Request) *exchange { return r.Context().(*exchange) }

// withExchange makes an exchange for each request. It schedules long responses in time slices, and
// limits the memory of those that their clients do not read.
//
// Options: none. Metrics: triplane_stalled_*. Order: before all filters that use it, which are
// all but withStack.
func withExchange(slots *timeslice.Scheduler, stalls *stalls) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := &exchange{}
			e.State.Init(r.Context())
			e.Received = time.Now()
			e.Timeslice.Join(slots)
			e.responseWriter.ResponseWriter = w
			e.responseWriter.exchange = e
			e.client, e.stalls = r, stalls
			// Contexts below must not outlive the request.
			defer e.Finish()
			next.ServeHTTP(e.responseWriter.shaped(), r.WithContext(e))
		})
	}
}
