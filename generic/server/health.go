package server

import "net/http"

// HealthChecker is a named check of /healthz, /livez and /readyz.
type HealthChecker interface {
	Name() string
	Check(*http.Request) error
}
