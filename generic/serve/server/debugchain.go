package server

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/serve/mux"
	"triplane.dev/generic/serve/requestmetrics"
)

// ChainPath is the path of the description of the chain.
const ChainPath = "/debug/chain"

// chainView is the response of ChainPath: the servers, or the server that responds to one request.
type chainView struct {
	Filters []filters.Acting `json:"filters"`
	Servers []serverView     `json:"servers,omitempty"`

	Request       *requestView     `json:"request,omitempty"`
	Server        string           `json:"server,omitempty"`
	Claim         *mux.Claim       `json:"claim,omitempty"`
	Walk          []stepView       `json:"walk,omitempty"`
	Authorization *filters.Verdict `json:"authorization,omitempty"`
}

type serverView struct {
	Name     string                 `json:"name"`
	Delegate string                 `json:"delegate,omitempty"`
	Claims   []mux.Claim            `json:"claims"`
	Traffic  *requestmetrics.Totals `json:"traffic,omitempty"`
}

type requestView struct {
	Method      string `json:"method"`
	Path        string `json:"path"`
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Version     string `json:"version,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Resource    string `json:"resource,omitempty"`
	Subresource string `json:"subresource,omitempty"`
	Name        string `json:"name,omitempty"`
}

// stepView is a server that a request reaches. A hidden server comes after the one that responds; its own claim
// has no effect.
type stepView struct {
	Server string     `json:"server"`
	Does   string     `json:"does"` // "responds", "delegates" or "is hidden"
	Claim  *mux.Claim `json:"claim,omitempty"`
}

// installChain serves ChainPath, and creates the metrics of the servers of the chain.
func (s *GenericAPIServer) installChain() {
	for _, each := range s.chain() {
		s.config.Metrics.Chain.Know(each.Name)
	}
	s.Handler.NonGoRestfulMux.UnlistedHandleFunc(ChainPath, s.serveChain)
}

// serveChain describes the chain. claims=false omits the claims, for clients that only need the counts.
//
// With ?path= (and verb=, default get) it describes how the chain would respond to that request, without sending
// it: the server, the claim, the effect of each filter, and the authorization of the calling user.
//
// The response is JSON, or text with ?format=text or if the client accepts only text/plain.
func (s *GenericAPIServer) serveChain(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the chain is read-only", http.StatusMethodNotAllowed)
		return
	}
	query := r.URL.Query()
	view := &chainView{}
	if path := query.Get("path"); path != "" {
		var err error
		if view, err = s.explain(r.Context(), path, query.Get("verb")); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	} else {
		view.Filters, view.Servers = s.filters.Acting(), s.serverViews(query.Get("claims") != "false")
	}
	if query.Get("format") == "text" || strings.HasPrefix(r.Header.Get("Accept"), "text/plain") {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write([]byte(view.text()))
		return
	}
	writeJSON(w, view)
}

func (s *GenericAPIServer) serverViews(claims bool) []serverView {
	var all []serverView
	for d := DelegationTarget(s); d.NextDelegate() != nil; d = d.NextDelegate() {
		v := serverView{Name: d.ServerName(), Delegate: d.NextDelegate().ServerName(), Claims: []mux.Claim{}}
		if claims {
			v.Claims = d.Claims()
		}
		if t := s.config.Metrics.Chain.Traffic(v.Name); t != nil {
			totals := t.Totals()
			v.Traffic = &totals
		}
		all = append(all, v)
	}
	for _, other := range []string{requestmetrics.ByFilters, requestmetrics.ByExternal, requestmetrics.ByNone} {
		totals := s.config.Metrics.Chain.Traffic(other).Totals()
		all = append(all, serverView{Name: other, Claims: []mux.Claim{}, Traffic: &totals})
	}
	return all
}

// methods maps verbs to methods; other verbs are methods themselves.
var methods = map[string]string{
	"": http.MethodGet, "get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet,
	"create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch, "apply": http.MethodPatch,
	"delete": http.MethodDelete, "deletecollection": http.MethodDelete,
	"post": http.MethodPost, "put": http.MethodPut, "head": http.MethodHead, "options": http.MethodOptions,
}

// explain describes how the chain would respond to a request. Errors are client errors.
func (s *GenericAPIServer) explain(ctx context.Context, target, verb string) (*chainView, error) {
	method, ok := methods[strings.ToLower(verb)]
	if !ok {
		return nil, fmt.Errorf("%q is neither an API verb nor an HTTP method", verb)
	}
	u, err := url.ParseRequestURI(target)
	if err != nil || !strings.HasPrefix(u.Path, "/") || u.Host != "" {
		return nil, fmt.Errorf("%q is not a path", target)
	}
	if strings.EqualFold(verb, "watch") {
		q := u.Query()
		q.Set("watch", "true")
		u.RawQuery = q.Encode()
	}
	info := &request.Info{}
	if err := info.Parse(method, u.Path, u.RawQuery); err != nil {
		return nil, err
	}
	view := &chainView{Request: &requestView{
		Method: method, Path: u.RequestURI(), Verb: info.Verb, Group: info.APIGroup, Version: info.APIVersion,
		Namespace: info.Namespace,
		Resource:  info.Resource, Subresource: info.Subresource, Name: info.Name,
	}}
	view.walk(s, mux.Inquiry{Method: method, Info: info})
	var verdict filters.Verdict
	view.Filters, verdict = s.filters.Explain(ctx, &http.Request{Method: method, URL: u, Header: http.Header{}}, info)
	view.Authorization = &verdict
	if s.filters.Covers(method, u.Path) {
		view.Server, view.Claim = requestmetrics.ByFilters, &mux.Claim{Path: u.Path, Rule: "publicFiles"}
	}
	return view, nil
}

// walk records the decision of each server of the chain. It includes the servers after the one that responds.
func (v *chainView) walk(from DelegationTarget, q mux.Inquiry) {
	for d := from; d != nil; d = d.NextDelegate() {
		claim, ok := d.ClaimOf(q)
		switch {
		case !ok:
			v.Walk = append(v.Walk, stepView{Server: d.ServerName(), Does: "delegates"})
		case v.Server == "":
			v.Server, v.Claim = d.ServerName(), &claim
			v.Walk = append(v.Walk, stepView{Server: d.ServerName(), Does: "responds", Claim: &claim})
		case claim.Rule != mux.RuleNone:
			v.Walk = append(v.Walk, stepView{Server: d.ServerName(), Does: "is hidden", Claim: &claim})
		}
	}
}

// text returns the view as text for people.
func (v *chainView) text() string {
	var b strings.Builder
	if v.Request != nil {
		v.writeRequest(&b)
		return b.String()
	}
	names := make([]string, len(v.Filters))
	for i, f := range v.Filters {
		names[i] = f.Name
	}
	fmt.Fprintf(&b, "filters\n  %s\n", strings.Join(names, " → "))
	for _, each := range v.Servers {
		each.write(&b)
	}
	return b.String()
}

func (v *chainView) writeRequest(b *strings.Builder) {
	fmt.Fprintf(b, "%s %s\n  %s responds, by %s\n", v.Request.Method, v.Request.Path, v.Server, v.Claim)
	for _, step := range v.Walk {
		fmt.Fprintf(b, "    %s %s", step.Server, step.Does)
		if step.Does != "delegates" && step.Claim != nil {
			fmt.Fprintf(b, ": %s", step.Claim)
		}
		b.WriteByte('\n')
	}
	a := v.Authorization
	fmt.Fprintf(b, "  authorization says %s to %s", a.Decision, a.User)
	for _, why := range []string{a.Reason, a.Error} {
		if why != "" {
			fmt.Fprintf(b, ": %s", why)
		}
	}
	b.WriteString("\n  filters\n")
	tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, f := range v.Filters {
		_, _ = fmt.Fprintf(tw, "    %s\t%s\n", f.Name, f.Does)
	}
	_ = tw.Flush() // writes to memory
}

func (v serverView) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s", v.Name)
	if v.Delegate != "" {
		fmt.Fprintf(b, " → %s", v.Delegate)
	}
	if v.Traffic != nil {
		for _, class := range slices.Sorted(maps.Keys(v.Traffic.Requests)) {
			fmt.Fprintf(b, "  %s %d", class, v.Traffic.Requests[class])
		}
	}
	b.WriteByte('\n')
	for _, c := range v.Claims {
		fmt.Fprintf(b, "  %s\n", c)
	}
}
