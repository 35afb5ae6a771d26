package filters

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/serve/requestmetrics"
)

// AuthenticationOptions configures authentication.
type AuthenticationOptions struct {
	// Authentication determines the user of a request; nil authenticates every request as system:anonymous.
	Authentication authentication.Request
	// APIAudiences are the audiences of this server. A credential with audiences must contain one of them. Empty
	// accepts any.
	APIAudiences []string
	// KeepAnonymous keeps the HTTP/2 connections of anonymous users open (UnauthenticatedHTTP2DOSMitigation is
	// off).
	KeepAnonymous bool
}

// withAuthentication determines the user of a request, or responds 401. It removes credentials from the request,
// so that no proxy forwards them. HTTP/2 connections of anonymous users are closed after the request.
//
// Options: the authenticators and audiences of generic/run/authoptions.Authentication. Metrics:
// authentication_attempts, authentication_duration_seconds, authenticated_user_requests. Order: before everything
// that depends on the user.
func withAuthentication(o AuthenticationOptions, m *requestmetrics.Metrics) filter {
	auth, audiences := o.Authentication, o.APIAudiences
	if auth == nil {
		return withAnonymous
	}
	var took prometheus.Observer
	if m != nil {
		took = m.Requests.Filter("authentication")
	}
	unauthorized := apierrors.NewUnauthorized("Unauthorized")
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			start := time.Now()
			response, err := auth.AuthenticateRequest(r)
			e.Spent(request.Authentication, time.Since(start))
			if m != nil {
				took.Observe(time.Since(start).Seconds())
				if response != nil && err == nil {
					m.Auth.Authenticated(response.User.Name, time.Since(start))
					if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && r.Header["Authorization"] == nil {
						m.Auth.ByCertificate(time.Until(r.TLS.PeerCertificates[0].NotAfter))
					}
				} else {
					m.Auth.Unauthenticated(err, time.Since(start))
				}
			}
			if err != nil || response == nil || !audiencesMatch(audiences, response.Audiences) {
				klog.V(2).InfoS("Failed to authenticate request", "err", err, "auditID", e.AuditID())
				o.endConnection(w, r)
				e.auditUnauthenticated(r)
				responsewriters.WriteError(w, r, unauthorized)
				return
			}
			if response.User.Name == user.Anonymous {
				o.endConnection(w, r)
			}
			for k, v := range response.Annotations {
				audit.RecordOf(&e.State).Annotate(k, v)
			}
			dropCredentials(r.Header)
			e.User = response.User
			next.ServeHTTP(w, r)
		})
	}
}

// endConnection closes the connection of an unauthenticated request after the response. On HTTP/2 this raises the
// cost of many cheap streams (CVE-2023-44487). On HTTP/1 it applies if the request has a body that no handler
// reads.
func (o *AuthenticationOptions) endConnection(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 2 && !o.KeepAnonymous || r.ProtoMajor != 2 && r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
}

// dropCredentials removes the headers that authenticate. Handlers do not need them, and proxies must not forward
// them.
func dropCredentials(h http.Header) {
	delete(h, "Authorization")
	for name := range h {
		if strings.HasPrefix(name, authentication.RemoteHeaders) {
			delete(h, name)
		}
	}
}

func audiencesMatch(ours, theirs []string) bool {
	return len(ours) == 0 || len(theirs) == 0 || len(authentication.Intersect(ours, theirs)) > 0
}

func withAnonymous(next http.Handler) http.Handler {
	anonymous := &user.Info{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exchangeOf(r).User = anonymous
		next.ServeHTTP(w, r)
	})
}
