package filters

import (
	"context"
	"errors"
	"net/http"
	"time"

	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/guard/authorization"
)

// AuditOptions configures audit logging.
type AuditOptions struct {
	// Audit records requests; nil disables audit logging.
	Audit *audit.Auditor
}

// withAuditRecord creates the audit record of the request. Authentication adds annotations to it.
//
// Options: generic/run/options.Audit. Metrics: none. Order: before authentication, and before the filters that
// respond to unauthenticated requests.
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

// withAudit records the request according to the audit policy. It responds 500 if the backend fails to store an
// event in blocking-strict mode. It records a panic of the handler and propagates it.
//
// Options: generic/run/options.Audit. Metrics: apiserver_audit_level_total, apiserver_audit_event_total,
// apiserver_audit_requests_rejected_total. Order: after authentication, because the policy selects by user; before
// impersonation, because events name the authenticated user; before all filters that may reject the request.
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
			defer func() {
				if cause := recover(); cause != nil {
					e.completeAudit(cause)
					panic(cause)
				}
				e.AtEnd(e.completeAudit)
			}()
			next.ServeHTTP(w, r)
		})
	}
}

// auditRequest returns the description of the request that the audit policy and the events need.
func (e *exchange) auditRequest(r *http.Request) *audit.Request {
	authorization.AttributesOf(&e.info, e.User, &e.attributes)
	return &audit.Request{
		ID: e.AuditID(), HTTP: r, Received: e.Received, Attributes: &e.attributes, LongRunning: e.longRunning,
	}
}

// completeAudit completes the record with the outcome of the handler, which may have panicked.
func (e *exchange) completeAudit(panicked any) {
	if panicked != nil {
		audit.RecordOf(&e.State).Panicked(panicked)
		return
	}
	if e.status == 0 && !e.hijacked && errors.Is(e.Err(), context.DeadlineExceeded) {
		audit.RecordOf(&e.State).Responds(http.StatusGatewayTimeout) // withDeadline responds so
	}
	if !e.longRunning {
		e.auditSlow()
	}
	if e.Server != "" {
		audit.RecordOf(&e.State).Annotate(auditServer, e.Server)
	}
	if e.Workspace != "" {
		audit.RecordOf(&e.State).Annotate(auditWorkspace, e.Workspace)
	}
	audit.RecordOf(&e.State).Complete()
}

// latencyPrefix is the prefix of the annotations with the latencies of a slow request.
const latencyPrefix = "apiserver.latency.k8s.io/"

// auditServer is the annotation with the server of the chain that responded.
const auditServer = "triplane/server"

// auditWorkspace is the annotation with the workspace of the request.
const auditWorkspace = "workspaces.triplane.dev/workspace"

// auditSlow annotates a slow request with the duration of each of its parts.
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

// auditUnauthenticated opens the record of a request that is about to be responded to without a user: a 401, a
// public file, a rejected cross-site request.
func (e *exchange) auditUnauthenticated(r *http.Request) {
	if e.Audit != nil && !audit.RecordOf(&e.State).OpenUnauthenticated(e.auditRequest(r)) {
		e.Audit = nil
	}
}
