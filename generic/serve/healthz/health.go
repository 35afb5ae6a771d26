package healthz

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
	"triplane.dev/generic/serve/mux"
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

// PingHealthz always passes.
var PingHealthz = NamedCheck("ping", func() error { return nil })

// LogHealthz passes while the log can be written.
var LogHealthz = NamedCheck("log", func() error {
	klog.Flush()
	return nil
})

// Delayed ignores failures of a check for a grace period after the server's start.
func Delayed(c HealthChecker, until *atomic.Int64, grace time.Duration) HealthChecker {
	return NamedCheck(c.Name(), func() error {
		started := until.Load()
		if started == 0 || time.Since(time.Unix(0, started)) < grace {
			return nil
		}
		return c.Check(nil)
	})
}

// Endpoint serves /NAME and /NAME/CHECK.
type Endpoint struct {
	name   string
	checks []HealthChecker
	slis   *SLIs
	// failed has the last error of each check, so that repeated failures are not logged at every probe.
	mu     sync.Mutex
	failed map[string]string
}

// NewEndpoint returns an endpoint that runs the first check of each name. Results are noted in slis.
func NewEndpoint(name string, checks []HealthChecker, slis *SLIs) *Endpoint {
	var unique []HealthChecker
	for _, c := range checks {
		if !slices.ContainsFunc(unique, func(u HealthChecker) bool { return u.Name() == c.Name() }) {
			unique = append(unique, c)
		}
	}
	return &Endpoint{name: name, checks: unique, slis: slis, failed: map[string]string{}}
}

// Install adds the endpoint and its checks to a mux.
func (e *Endpoint) Install(m *mux.PathRecorderMux) {
	m.Handle("/"+e.name, http.HandlerFunc(e.serveAll))
	for _, c := range e.checks {
		m.Handle("/"+e.name+"/"+c.Name(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e.serveOne(w, r, c)
		}))
	}
}

// Note runs all checks once, for the indicators. It does nothing without them.
func (e *Endpoint) Note() {
	if e.slis == nil {
		return
	}
	for _, c := range e.checks {
		e.slis.note(e.name, c.Name(), c.Check(nil))
	}
}

func (e *Endpoint) serveOne(w http.ResponseWriter, r *http.Request, c HealthChecker) {
	if err := c.Check(r); err != nil {
		http.Error(w, fmt.Sprintf("internal server error: %v", err), http.StatusInternalServerError)
		return
	}
	writeText(w, "ok")
}

// serveAll runs all checks but the excluded ones. The reason of a failure is logged, but not part of the response.
func (e *Endpoint) serveAll(w http.ResponseWriter, r *http.Request) {
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
func (e *Endpoint) note(name string, err error) {
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
	return strings.Join(q, ",")
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	fmt.Fprint(w, text)
}
