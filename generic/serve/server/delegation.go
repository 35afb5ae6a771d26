package server

import (
	"net/http"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/serve/healthz"
	"triplane.dev/generic/serve/mux"
	"triplane.dev/generic/serve/requestmetrics"
)

// DelegationTarget is the next server in the chain. A server delegates all requests that it does not claim. The
// outermost server collects and runs the hooks, health checks and listed paths of the whole chain.
type DelegationTarget interface {
	// UnprotectedHandler serves requests without authentication and authorization, which the outermost server has
	// done.
	UnprotectedHandler() http.Handler
	// PostStartHooks, PreShutdownHooks, HealthChecks and ListedPaths include those of the next targets, which come
	// first.
	PostStartHooks() []PostStartHook
	PreShutdownHooks() []PreShutdownHook
	HealthChecks() healthz.HealthChecks
	ListedPaths() []string
	// ServerName names the server. Claims returns its own claims, without those of the next targets. ClaimOf
	// returns the claim that covers a request, or false if the server delegates the request.
	ServerName() string
	Claims() []mux.Claim
	ClaimOf(mux.Inquiry) (mux.Claim, bool)
	// NextDelegate returns the next target, nil at the end of the chain.
	NextDelegate() DelegationTarget
}

// EmptyDelegate ends the chain: it responds 404 to all requests.
func EmptyDelegate() DelegationTarget { return emptyDelegate{} }

type emptyDelegate struct{}

func (emptyDelegate) UnprotectedHandler() http.Handler    { return http.HandlerFunc(notFound) }
func (emptyDelegate) PostStartHooks() []PostStartHook     { return nil }
func (emptyDelegate) PreShutdownHooks() []PreShutdownHook { return nil }
func (emptyDelegate) HealthChecks() healthz.HealthChecks  { return healthz.HealthChecks{} }
func (emptyDelegate) ListedPaths() []string               { return nil }
func (emptyDelegate) NextDelegate() DelegationTarget      { return nil }

func notFound(w http.ResponseWriter, r *http.Request) {
	request.MarkServer(r.Context(), requestmetrics.ByNone)
	http.NotFound(w, r)
}
