package requestmetrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Auth has the metrics of authentication and authorization.
type Auth struct {
	users *prometheus.CounterVec
	certs prometheus.Histogram

	authenticated, unauthenticated, authenticationErrors outcomeMetrics
	allowed, denied, undecided, authorizationErrors      outcomeMetrics
}

// outcomeMetrics counts and measures one result.
type outcomeMetrics struct {
	count prometheus.Counter
	took  prometheus.Observer
}

func (o outcomeMetrics) observe(took time.Duration) {
	o.count.Inc()
	o.took.Observe(took.Seconds())
}

func newAuth(r prometheus.Registerer) *Auth {
	buckets := prometheus.ExponentialBuckets(0.001, 2, 15)
	attempts := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "authentication_attempts",
		Help: "Attempts to authenticate, by result."}, []string{"result"})
	authentication := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "authentication_duration_seconds",
		Buckets: buckets,
		Help:    "Seconds that authentication took, by result."}, []string{"result"})
	decisions := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "authorization_attempts_total",
		Help: "Attempts to authorize, by result."}, []string{"result"})
	authorization := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "authorization_duration_seconds",
		Buckets: buckets,
		Help:    "Seconds that authorization took, by result."}, []string{"result"})
	users := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "authenticated_user_requests",
		Help: "Authenticated requests, by well-known user."}, []string{"username"})
	certs := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "apiserver_client_certificate_expiration_seconds",
		Buckets: []float64{0, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 345600, 604800, 2592000, 7776000, 15552000,
			31104000},
		Help: "Seconds that client certificates of requests are still valid."})
	r.MustRegister(certs, attempts, authentication, decisions, authorization, users)
	authenticationMetrics := func(result string) outcomeMetrics {
		return outcomeMetrics{attempts.WithLabelValues(result), authentication.WithLabelValues(result)}
	}
	authorizationMetrics := func(result string) outcomeMetrics {
		return outcomeMetrics{decisions.WithLabelValues(result), authorization.WithLabelValues(result)}
	}
	return &Auth{
		users: users, certs: certs,
		authenticated: authenticationMetrics("success"), unauthenticated: authenticationMetrics("failure"),
		authenticationErrors: authenticationMetrics("error"),
		allowed:              authorizationMetrics("allowed"), denied: authorizationMetrics("denied"),
		undecided: authorizationMetrics("no-opinion"), authorizationErrors: authorizationMetrics("error"),
	}
}

// Authenticated counts a successful authentication.
func (a *Auth) Authenticated(name string, took time.Duration) {
	a.authenticated.observe(took)
	a.users.WithLabelValues(wellKnown(name)).Inc()
}

// ByCertificate records the remaining validity of a request's client certificate.
func (a *Auth) ByCertificate(valid time.Duration) { a.certs.Observe(valid.Seconds()) }

// Unauthenticated counts an authentication without a result, or with an error an invalid credential.
func (a *Auth) Unauthenticated(err error, took time.Duration) {
	if err != nil {
		a.authenticationErrors.observe(took)
		return
	}
	a.unauthenticated.observe(took)
}

// Decided counts a decision of the authorizers.
func (a *Auth) Decided(allowed, denied bool, err error, took time.Duration) {
	switch {
	case allowed:
		a.allowed.observe(took)
	case err != nil:
		a.authorizationErrors.observe(took)
	case denied:
		a.denied.observe(took)
	default:
		a.undecided.observe(took)
	}
}

// wellKnown returns the label for a user name, which limits the number of series.
func wellKnown(name string) string {
	switch name {
	case "admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default":
		return name
	}
	if strings.Contains(name, "@") {
		return "email_id"
	}
	return "other"
}
