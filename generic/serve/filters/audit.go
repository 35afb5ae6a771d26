package filters

import (
	"context"
	"errors"
	"net/http"
	"time"

	"triplane/generic/guard/audit"
	"triplane/generic/guard/authorization"
)

// AuditOptions is how requests are recorded.
type AuditOptions struct {
	// Audit records requests; nil records none.
	Audit *audit.Auditor
}

// withAuditRecord gives the request a record, to which authentication adds what it
// finds out.
//
// Options: generic/run/options.Audit. Metrics: none. Order: before authentication, and before
// what responds to requests without a user.
func withAuditRecord(o AuditOptions) filter {
	if o.Audit == nil {
		return nil
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			exchangeOf(r).Audit = o.Audit.Begin()
			next.ServeHTTP(w, r)
		})
	}
}

// withAudit records the request as the policy says, and answers 500 where the
// backend refuses requests that it cannot record. A handler that panics is
// recorded and goes on panicking.
//
// Options: generic/run/options.Audit. Metrics: apiserver_audit_level_total,
// apiserver_audit_event_total, apiserver_audit_requests_rejected_total. Order:
// behind authentication, as the policy depends on the user; before impersonation,
// as the user is the one who authenticated, and before all that may refuse the
// request.
func withAudit(o AuditOptions) filter {
	if o.Audit == nil {
		return nil
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			audited, stored := audit.RecordOf(&e.State).Open(e.auditRequest(r))
			if !audited {
				e.Audit = nil
				next.ServeHTTP(w, r)
				return
			}
			if !stored {
				internalError(w, r, errors.New("failed to store audit event"))
				return
			}
			defer e.completeAudit()
			next.ServeHTTP(w, r)
		})
	}
}

// auditRequest describes the request to its record.
func (e *exchange) auditRequest(r *http.Request) *audit.Request {
	authorization.AttributesOf(&e.info, e.User, &e.attributes)
	return &audit.Request{ID: e.AuditID, HTTP: r, Received: e.Received, Attributes: &e.attributes, LongRunning: e.longRunning}
}

// completeAudit is deferred: it ends the record with how the handler ended.
func (e *exchange) completeAudit() {
	if cause := recover(); cause != nil {
		audit.RecordOf(&e.State).Panicked(cause)
		panic(cause)
	}
	if e.status == 0 && !e.hijacked && errors.Is(e.Err(), context.DeadlineExceeded) {
		audit.RecordOf(&e.State).Responds(http.StatusGatewayTimeout) // which withDeadline answers
	}
	if !e.longRunning {
		e.auditSlow()
	}
	if e.Server != "" {
		audit.RecordOf(&e.State).Annotate(auditServer, e.Server)
	}
	audit.RecordOf(&e.State).Complete()
}

// latencyPrefix begins the annotations with the times of slow requests.
const latencyPrefix = "apiserver.latency.k8s.io/"

// auditServer is the annotation with the server of the chain that answered.
const auditServer = "triplane/server"

// auditSlow annotates a request that took long with where the time went.
func (e *exchange) auditSlow() {
	total := time.Since(e.Received)
	if total < slowRequest {
		return
	}
	audit.RecordOf(&e.State).Annotate(latencyPrefix+"total", total.String())
	for part, took := range e.Parts() {
		audit.RecordOf(&e.State).Annotate(latencyPrefix+part.String(), took.String())
	}
}

// auditUnauthenticated opens the record of a request that is about to be answered
// without a user: 401, files that everybody may have, what pages of other sites ask for.
func (e *exchange) auditUnauthenticated(r *http.Request) {
	if e.Audit != nil && !audit.RecordOf(&e.State).OpenUnauthenticated(e.auditRequest(r)) {
		e.Audit = nil
	}
}
