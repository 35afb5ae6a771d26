package filters

import (
	"net/http"
	"time"

	"triplane/generic/authorization/authorizer"
	"triplane/generic/flowcontrol"
	"triplane/generic/request"
	"triplane/generic/turns"
)

// exchange is all that the chain keeps of a request while it is answered.
type exchange struct {
	request.State
	info request.Info
	responseWriter
	longRunning bool
	// Room for what the filters need once, so that it is not allocated apart.
	attributes authorizer.Attributes
	ticket     flowcontrol.Ticket
	auditID    [1]string
}

// exchangeOf finds the exchange behind the chain's own requests.
func exchangeOf(r *http.Request) *exchange { return r.Context().(*exchange) }

// withExchange makes an exchange for each request, and has it take part in the
// turns of long answers.
//
// Options: none. Metrics: none. Order: before all filters that use it, which are
// all but withStack.
func withExchange(all *turns.Turns) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := &exchange{}
			e.State.Init(r.Context())
			e.Received = time.Now()
			e.Turn.Join(all)
			e.responseWriter.ResponseWriter = w
			e.responseWriter.state = &e.State
			// Contexts below must not outlive the request.
			defer e.Finish()
			next.ServeHTTP(e.responseWriter.shaped(), r.WithContext(e))
		})
	}
}
