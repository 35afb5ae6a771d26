package server

import "net/http"

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
	// NextDelegate is the target behind this one, nil at the end.
	NextDelegate() DelegationTarget
}

// EmptyDelegate ends the chain: it answers 404 to everything.
func EmptyDelegate() DelegationTarget { return emptyDelegate{} }

type emptyDelegate struct{}

func (emptyDelegate) UnprotectedHandler() http.Handler    { return http.HandlerFunc(http.NotFound) }
func (emptyDelegate) PostStartHooks() []PostStartHook     { return nil }
func (emptyDelegate) PreShutdownHooks() []PreShutdownHook { return nil }
func (emptyDelegate) HealthChecks() HealthChecks          { return HealthChecks{} }
func (emptyDelegate) ListedPaths() []string               { return nil }
func (emptyDelegate) NextDelegate() DelegationTarget      { return nil }
