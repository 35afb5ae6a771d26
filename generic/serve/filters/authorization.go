package filters

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/guard/authorization"
	"triplane.dev/generic/serve/requestmetrics"
)

// AuthorizationOptions configures authorization.
type AuthorizationOptions struct {
	// Authorization authorizes requests; nil allows everything.
	Authorization authorizer.Authorizer
	// PlainImpersonation disables the constrained modes of impersonation (KEP-5284).
	PlainImpersonation bool
}

// Audit annotations of authorization.
const (
	auditDecision = "authorization.k8s.io/decision"
	auditReason   = "authorization.k8s.io/reason"
)

// withAuthorization passes authorized requests to the next handler, and responds 403 to all others. It responds
// 500 if an authorizer failed and none has decided.
//
// Options: the authorizers of generic/run/authoptions.Authorization. Metrics: authorization_attempts_total,
// authorization_duration_seconds. Order: last, because a decision may depend on everything that the other filters
// determine.
func withAuthorization(o AuthorizationOptions, m *requestmetrics.Metrics) filter {
	authz := o.Authorization
	if authz == nil {
		return nil
	}
	var took prometheus.Observer
	if m != nil {
		took = m.Requests.Filter("authorization")
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			a := &e.attributes
			authorization.AttributesOf(&e.info, e.User, a)
			start := time.Now()
			decision, reason, err := authz.Authorize(e, a)
			if m != nil {
				took.Observe(time.Since(start).Seconds())
				m.Auth.Decided(decision == authorizer.Allow, decision == authorizer.Deny, err, time.Since(start))
			}
			e.Spent(request.Authorization, time.Since(start))
			switch {
			case decision == authorizer.Allow:
				audit.RecordOf(&e.State).Annotate(auditDecision, "allow")
				audit.RecordOf(&e.State).Annotate(auditReason, reason)
				next.ServeHTTP(w, r)
			case err != nil:
				audit.RecordOf(&e.State).Annotate(auditReason, "internal error")
				internalError(w, r, err)
			default:
				audit.RecordOf(&e.State).Annotate(auditDecision, "forbid")
				audit.RecordOf(&e.State).Annotate(auditReason, reason)
				forbidden(w, r, a, reason)
			}
		})
	}
}

func forbidden(w http.ResponseWriter, r *http.Request, a *authorizer.Attributes, reason string) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	responsewriters.WriteError(w, r, authorization.Forbidden(a, reason))
}
