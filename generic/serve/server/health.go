package server

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
)

// HealthChecker is a named check of /healthz, /livez and /readyz.
type HealthChecker interface {
	Name() string
	// Check returns the failure, nil if healthy. The text is logged only.
	Check(*http.Request) error
}

// NamedCheck returns a HealthChecker that calls a function.
func NamedCheck(name string, check func() error) HealthChecker {
	return namedCheck{name: name, check: check}
}

// GroupedCheck returns a NamedCheck that ?exclude=GROUP also excludes. The group is the name of another check.
func GroupedCheck(group, name string, check func() error) HealthChecker {
	return namedCheck{group: group, name: name, check: check}
}

type namedCheck struct {
	group, name string
	check       func() error
}

func (c namedCheck) Name() string              { return c.name }
func (c namedCheck) Check(*http.Request) error { return c.check() }

// HealthChecks are the checks of each endpoint, in listing order.
type HealthChecks struct{ Healthz, Livez, Readyz []HealthChecker }

// AddHealthChecks adds checks to all three endpoints.
func (s *GenericAPIServer) AddHealthChecks(checks ...HealthChecker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checks.Healthz = append(s.checks.Healthz, checks...)
	s.checks.Livez = append(s.checks.Livez, checks...)
	s.checks.Readyz = append(s.checks.Readyz, checks...)
}

// AddReadyzChecks adds checks to /readyz only.
func (s *GenericAPIServer) AddReadyzChecks(checks ...HealthChecker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checks.Readyz = append(s.checks.Readyz, checks...)
}

// pingHealth always passes.
var pingHealth = NamedCheck("ping", func() error { return nil })

// logHealth passes while the log can be written.
var logHealth = NamedCheck("log", func() error {
	klog.Flush()
	return nil
})

// delayed ignores failures of a check for a grace period after the server's start.
func delayed(c HealthChecker, until *atomic.Int64, grace time.Duration) HealthChecker {
	return NamedCheck(c.Name(), func() error {
		started := until.Load()
		if started == 0 || time.Since(time.Unix(0, started)) < grace {
			return nil
		}
		return c.Check(nil)
	})
}

// healthEndpoint serves /NAME and /NAME/CHECK.
type healthEndpoint struct {
	name   string
	checks []HealthChecker
	slis   *slis
	// failed has the last error of each check, so that repeated failures are not logged at every probe.
	mu     sync.Mutex
	failed map[string]string
}

func newHealthEndpoint(name string, checks []HealthChecker, slis *slis) *healthEndpoint {
	var unique []HealthChecker
	for _, c := range checks {
		if !slices.ContainsFunc(unique, func(u HealthChecker) bool { return u.Name() == c.Name() }) {
			unique = append(unique, c)
		}
	}
	return &healthEndpoint{name: name, checks: unique, slis: slis, failed: map[string]string{}}
}

func (e *healthEndpoint) install(mux *PathRecorderMux) {
	mux.Handle("/"+e.name, http.HandlerFunc(e.serveAll))
	for _, c := range e.checks {
		mux.Handle("/"+e.name+"/"+c.Name(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e.serveOne(w, r, c)
		}))
	}
}

func (e *healthEndpoint) serveOne(w http.ResponseWriter, r *http.Request, c HealthChecker) {
	if err := c.Check(r); err != nil {
		http.Error(w, fmt.Sprintf("internal server error: %v", err), http.StatusInternalServerError)
		return
	}
	writeText(w, "ok")
}

// serveAll runs all checks but the excluded ones. The reason of a failure is logged, but not part of the response.
func (e *healthEndpoint) serveAll(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	excluded := sets.New(query["exclude"]...)
	unknown := excluded.Clone()
	_, verbose := query["verbose"]
	var out bytes.Buffer
	var failed []string
	for _, c := range e.checks {
		unknown.Delete(c.Name())
		if excluded.Has(c.Name()) {
			fmt.Fprintf(&out, "[+]%s excluded: ok\n", c.Name())
			continue
		}
		if named, ok := c.(namedCheck); ok && named.group != "" && excluded.Has(named.group) {
			fmt.Fprintf(&out, "[+]%s excluded with %s: ok\n", named.name, named.group)
			continue
		}
		err := c.Check(r)
		e.slis.note(e.name, c.Name(), err)
		e.note(c.Name(), err)
		if err != nil {
			fmt.Fprintf(&out, "[-]%s failed: reason withheld\n", c.Name())
			failed = append(failed, c.Name())
			continue
		}
		fmt.Fprintf(&out, "[+]%s ok\n", c.Name())
	}
	if unknown.Len() > 0 {
		fmt.Fprintf(&out, "warn: some health checks cannot be excluded: no matches for %s\n",
			quoted(sets.List(unknown)))
	}
	if len(failed) > 0 {
		http.Error(w, fmt.Sprintf("%s%s check failed", out.String(), e.name), http.StatusInternalServerError)
		return
	}
	if !verbose {
		writeText(w, "ok")
		return
	}
	fmt.Fprintf(&out, "%s check passed\n", e.name)
	writeText(w, out.String())
}

// note logs a check's failure when it starts, changes or ends.
func (e *healthEndpoint) note(name string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.failed[name]
	switch {
	case err == nil && before != "":
		delete(e.failed, name)
		klog.V(2).InfoS("Health check recovered", "endpoint", e.name, "check", name)
	case err != nil && before != err.Error():
		e.failed[name] = err.Error()
		klog.V(2).InfoS("Health check failed", "endpoint", e.name, "check", name, "err", err)
	}
}

func quoted(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(q, ", ")
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	fmt.Fprint(w, text)
}
