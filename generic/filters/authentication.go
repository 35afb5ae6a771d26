package filters

import (
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"triplane/generic/authentication"
	"triplane/generic/authentication/user"
	"triplane/generic/metrics"
)

// withAuthentication finds out who makes the request, or answers 401.
func withAuthentication(auth authentication.Request, audiences []string, m *metrics.Registry) func(http.Handler) http.Handler {
	if auth == nil {
		return withEverybodyAnonymous
	}
	unauthorized := apierrors.NewUnauthorized("Unauthorized")
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			start := time.Now()
			response, err := auth.AuthenticateRequest(r)
			if m != nil {
				if response != nil && err == nil {
					m.Auth.Authenticated(response.User.Name, time.Since(start))
				} else {
					m.Auth.Unauthenticated(err, time.Since(start))
				}
			}
			if err != nil || response == nil || !audienceFits(audiences, response.Audiences) {
				klog.V(2).InfoS("Request is not authenticated", "err", err, "auditID", e.AuditID)
				endConnection(w, r)
				writeStatus(w, r, unauthorized)
				return
			}
			if response.User.Name == user.Anonymous {
				endConnection(w, r)
			}
			dropCredentials(r.Header)
			e.User = response.User
			next.ServeHTTP(w, r)
		})
	}
}

// endConnection closes an HTTP/2 connection after this request: streams of one
// connection cost a client who need not say who they are too little.
func endConnection(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 2 {
		w.Header().Set("Connection", "close")
	}
}

// dropCredentials takes away what said who asks: nobody behind needs it, and a
// proxy must not pass it on.
func dropCredentials(h http.Header) {
	delete(h, "Authorization")
	for name := range h {
		if strings.HasPrefix(name, "X-Remote-") {
			delete(h, name)
		}
	}
}

func audienceFits(ours, theirs []string) bool {
	return len(ours) == 0 || len(theirs) == 0 || len(authentication.Intersect(ours, theirs)) > 0
}

func withEverybodyAnonymous(next http.Handler) http.Handler {
	anonymous := &user.Info{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exchangeOf(r).User = anonymous
		next.ServeHTTP(w, r)
	})
}
