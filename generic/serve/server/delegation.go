package server

import (
	"net/http"

	"triplane/generic/base/metrics"
	"triplane/generic/base/request"
)

// DelegationTarget is the next server in the chain: what a server does not
// claim goes to its target. Hooks, health checks and listed paths of the whole
// chain are collected and run by the outermost server.
type DelegationTarget interface {
	// UnprotectedHandler answers requests without authentication and
	// authorization, which the outermost server has done.
	UnprotectedHandler() http.Handler
	// PostStartHooks, PreShutdownHooks, HealthChecks and ListedPaths include
	// those of the targets behind, which come first.
	PostStartHooks() []PostStartHook
	PreShutdownHooks() []PreShutdownHook
	HealthChecks() HealthChecks
	ListedPaths() []string
	// ServerName names the server; Claims lists what it answers itself, without those
	// behind it, and ClaimOf returns the claim that covers a request, false where that
	// goes to the delegate.
	ServerName() string
	Claims() []Claim
	ClaimOf(Inquiry) (Claim, bool)
	// NextDelegate is the target behind this one, nil at the end.
	NextDelegate() DelegationTarget
}

// EmptyDelegate ends the chain: it answers 404 to everything.
func EmptyDelegate() DelegationTarget { return emptyDelegate{} }

type emptyDelegate struct{}

func (emptyDelegate) UnprotectedHandler() http.Handler    { return http.HandlerFunc(notFound) }
func (emptyDelegate) PostStartHooks() []PostStartHook     { return nil }
func (emptyDelegate) PreShutdownHooks() []PreShutdownHook { return nil }
func (emptyDelegate) HealthChecks() HealthChecks          { return HealthChecks{} }
func (emptyDelegate) ListedPaths() []string               { return nil }
func (emptyDelegate) NextDelegate() DelegationTarget      { return nil }

func notFound(w http.ResponseWriter, r *http.Request) {
	request.MarkServer(r.Context(), metrics.ByNone)
	http.NotFound(w, r)
}
