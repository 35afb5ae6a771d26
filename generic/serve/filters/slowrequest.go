package filters

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

// slowRequest is the duration above which a request is logged.
const slowRequest = 500 * time.Millisecond

// withSlowRequestLog logs slow requests with the duration of each step. It uses the format of k8s.io/utils/trace,
// like kube-apiserver.
//
// Options: none. Metrics: none. Order: after requestInfo, which provides the fields; before all filters that may
// wait.
func withSlowRequestLog(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		e := exchangeOf(r)
		if e.longRunning || !e.info.IsResourceRequest {
			return
		}
		if now := time.Now(); now.Sub(e.Received) >= slowRequest {
			klog.Info(e.trace(r, now)) //nolint:loggercheck // the format of several lines is what tools know
		}
	})
}

// maxField bounds the length of client-provided values in the log.
const maxField = 256

// trace returns the log text of a request that ended at end.
func (e *exchange) trace(r *http.Request, end time.Time) string {
	var b strings.Builder
	i, id := &e.info, rand.Int32()
	series := seriesOf(r, i)
	name := cmp.Or(i.Verb, strings.ToLower(r.Method)) // OPTIONS is not an API verb
	name = strings.ToUpper(name[:1]) + name[1:]
	fmt.Fprintf(&b, "Trace[%d]: %q ", id, name)
	for n, f := range [][2]string{
		{"accept", r.Header.Get("Accept")}, {"audit-id", e.AuditID()},
		{"client", r.RemoteAddr}, {"api-group", i.APIGroup},
		{"api-version", i.APIVersion}, {"name", i.Name}, {"subresource", i.Subresource}, {"namespace", i.Namespace},
		{"protocol", r.Proto}, {"resource", i.Resource}, {"scope", series.Scope}, {"url", r.URL.Path},
		{"user-agent", r.UserAgent()}, {"verb", series.Verb},
	} {
		if n > 0 {
			b.WriteByte(',')
		}
		b.WriteString(f[0] + ":" + oneLine(f[1]))
	}
	total := end.Sub(e.Received)
	fmt.Fprintf(&b, " (%s) (total time: %dms):", e.Received.Format("02-Jan-2006 15:04:05.000"), total.Milliseconds())
	last := e.Received
	for _, s := range e.Steps() {
		fmt.Fprintf(&b, "\nTrace[%d]: ---%q %dms (%s)",
			id, oneLine(s.What), s.At.Sub(last).Milliseconds(), s.At.Format("15:04:05.000"))
		last = s.At
	}
	fmt.Fprintf(&b, "\nTrace[%d]: [%v] [%v] END", id, total, end.Sub(last))
	return b.String()
}

// oneLine truncates a client-provided value and replaces control characters, so that it cannot forge log lines.
func oneLine(text string) string {
	if len(text) > maxField {
		text = text[:maxField]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, text)
}
