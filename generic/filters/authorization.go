package filters

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/authorization"
	"triplane/generic/authorization/authorizer"
	"triplane/generic/metrics"
	"triplane/generic/request"
)

// AuthorizationOptions is who decides what users may do.
type AuthorizationOptions struct {
	// Authorization decides; nil allows everything.
	Authorization authorizer.Authorizer
	// PlainImpersonation leaves out the constrained ways to impersonate (KEP-5284).
	PlainImpersonation bool
}

// The audit annotations of authorization.
const (
	auditDecision = "authorization.k8s.io/decision"
	auditReason   = "authorization.k8s.io/reason"
)

// withAuthorization passes on what the user may do and answers 403 otherwise; an
// authorizer that failed without an opinion is answered 500.
//
// Options: the authorizers of generic/options.Authorization. Metrics:
// authorization_attempts_total, authorization_duration_seconds. Order: last, so
// that all that a decision may depend on is known.
func withAuthorization(o AuthorizationOptions, m *metrics.Registry) filter {
	authz := o.Authorization
	if authz == nil {
		return unchanged
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
				took.Observe(metrics.Took(start))
				m.Auth.Decided(decision == authorizer.Allow, decision == authorizer.Deny, err, time.Since(start))
			}
			e.Spent(request.Authorization, time.Since(start))
			switch {
			case decision == authorizer.Allow:
				e.Audit.Annotate(auditDecision, "allow")
				e.Audit.Annotate(auditReason, reason)
				next.ServeHTTP(w, r)
			case err != nil:
				e.Audit.Annotate(auditReason, "internal error")
				internalError(w, r, err)
			default:
				e.Audit.Annotate(auditDecision, "forbid")
				e.Audit.Annotate(auditReason, reason)
				forbidden(w, r, a, reason)
			}
		})
	}
}

func forbidden(w http.ResponseWriter, r *http.Request, a *authorizer.Attributes, reason string) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	writeStatus(w, r, forbiddenError(a, reason))
}

func forbiddenError(a *authorizer.Attributes, reason string) *apierrors.StatusError {
	message := forbiddenMessage(a)
	if reason != "" {
		message += ": " + reason
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: request.Shortened(a.APIGroup), Resource: request.Shortened(a.Resource)}, request.Shortened(a.Name), errors.New(message))
}

func forbiddenMessage(a *authorizer.Attributes) string {
	name := ""
	if a.User != nil {
		name = a.User.Name
	}
	if !a.ResourceRequest {
		return fmt.Sprintf("User %q cannot %s path %q", name, a.Verb, request.Shortened(a.Path))
	}
	resource, namespace := a.Resource, request.Shortened(a.Namespace)
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	resource = request.Shortened(resource)
	if a.Namespace != "" {
		return fmt.Sprintf("User %q cannot %s resource %q in API group %q in the namespace %q", name, a.Verb, resource, request.Shortened(a.APIGroup), namespace)
	}
	return fmt.Sprintf("User %q cannot %s resource %q in API group %q at the cluster scope", name, a.Verb, resource, request.Shortened(a.APIGroup))
}
