package server

import "net/http"

// DelegationTarget is the next server in the chain: what a server does not
// claim goes to its target. Hooks, health checks and listed paths of the whole
// chain are told and run by the outermost server.
type DelegationTarget interface {
	// UnprotectedHandler answers requests without authentication and
	// authorization, which the outermost server has done.
	UnprotectedHandler() http.Handler
	// PostStartHooks, PreShutdownHooks, HealthChecks and ListedPaths include
	// those of the targets behind.
	PostStartHooks() map[string]PostStartHookFunc
	PreShutdownHooks() map[string]PreShutdownHookFunc
	HealthChecks() []HealthChecker
	ListedPaths() []string
	// NextDelegate is the target behind this one, nil at the end.
	NextDelegate() DelegationTarget
}
