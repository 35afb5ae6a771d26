package filters

import (
	"net/http"

	"triplane.dev/generic/base/request"
)

const (
	auditIDHeader = "Audit-Id"
	maxAuditID    = 64
)

// withAuditID sets the audit ID of the request: the Audit-Id header if present, otherwise a new UUID. The response
// repeats it, truncated to 64 bytes.
//
// Options: none. Metrics: none. Order: before all filters that log or respond.
func withAuditID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(auditIDHeader)
		if id == "" {
			id = request.NewAuditID()
		}
		e := exchangeOf(r)
		e.AuditIDs[0] = id
		if w.Header()[auditIDHeader] = e.AuditIDs[:]; len(id) > maxAuditID {
			w.Header().Set(auditIDHeader, id[:maxAuditID])
		}
		next.ServeHTTP(w, r)
	})
}
