package filters

import (
	"net/http"
	"sync/atomic"
	"time"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/timeslice"
	"triplane.dev/generic/guard/flowcontrol"
)

// exchange is the state of a request in the chain.
type exchange struct {
	request.State
	info request.Info
	responseWriter
	// client is the request as received.
	client *http.Request
	stalls *stalls
	// ticket holds the seats of the request. It is nil if priority and fairness does not control the request. It
	// points to first, or to another ticket after the request has waited for its body.
	ticket *flowcontrol.Ticket
	// limiter counts the request while it executes; nil if no limit applies.
	limiter *limiter
	// seated is set while the request holds seats or a place in a limiter; release clears it.
	seated      atomic.Bool
	longRunning bool
	hijacked    bool
	sandbox     bool // restrict applies to a proxied response
	// Values that filters need once per request, embedded to save allocations.
	attributes authorizer.Attributes
	first      flowcontrol.Ticket
}

// over ends the request. Contexts derived from the exchange must not outlive it.
func (e *exchange) over(any) {
	e.Release()
	e.Finish()
}

// exchangeOf returns the exchange of a request inside the chain.
func exchangeOf(r *http.Request) *exchange { return r.Context().(*exchange) }

// withExchange creates the exchange of each request. It schedules long responses in time slices, and bounds the
// memory of stalled responses.
//
// Options: none. Metrics: triplane_stalled_*. Order: before all filters that use the exchange: all but withStack.
func withExchange(slots *timeslice.Scheduler, stalls *stalls, o FormatOptions) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := &exchange{}
			e.State.Init(r.Context())
			e.Received, e.CBOR = time.Now(), o.CBOR
			e.Timeslice.Join(slots)
			e.responseWriter.ResponseWriter = w
			e.responseWriter.exchange = e
			e.client, e.stalls, e.Seats = r, stalls, e
			continues := false
			defer func() {
				if !continues {
					e.over(nil)
				}
			}()
			next.ServeHTTP(e.responseWriter.shaped(), r.WithContext(e))
			if continues = e.Continues(); continues {
				e.AtEnd(e.over)
				e.RunContinuation(w)
			}
		})
	}
}
