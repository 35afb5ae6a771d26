// Package healthz has the checks behind /healthz, /livez and /readyz, and counts their results for /metrics/slis.
package healthz
