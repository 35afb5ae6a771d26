package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/emicklei/go-restful/v3"

	"triplane/generic/base/metrics"
	"triplane/generic/base/request"
)

// Rule is what makes a server answer a path.
type Rule string

// The rules of the generic server; handlers that are Claimants have their own.
const (
	// RuleRoutes is a service of the go-restful container: it answers everything below
	// its root, also where none of its routes fits.
	RuleRoutes Rule = "routes"
	// RulePath is a path of the PathRecorderMux, RulePrefix all below one.
	RulePath   Rule = "path"
	RulePrefix Rule = "prefix"
	// RuleNone is nothing: the end of the chain answers 404.
	RuleNone Rule = "none"
)

// Claim is what a server answers itself rather than its delegate.
type Claim struct {
	// Path is exact for RulePath; all below it is claimed, too, for all other rules.
	Path string `json:"path"`
	Rule Rule   `json:"rule"`
	// Object stands for the claim, as an APIService or a CustomResourceDefinition.
	Object string `json:"object,omitempty"`
	// Route is the route that a request takes; "" where none fits, or nobody asked.
	Route string `json:"route,omitempty"`
	// External is who answers where the claim is that of a server behind this one.
	External *External `json:"external,omitempty"`
}

// External is a server that requests are proxied to.
type External struct {
	Service   string `json:"service"` // NAMESPACE/NAME:PORT
	Available bool   `json:"available"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
	// Requests is how many were sent there, Failed how many of them had no answer or
	// one of 500 or more.
	Requests uint64 `json:"requests"`
	Failed   uint64 `json:"failed"`
	// LatencySeconds is the moving average of the time until answers began, those to
	// checks of availability included; 0 where there was none.
	LatencySeconds float64 `json:"latencySeconds"`
}

// Inquiry is a request that is not sent.
type Inquiry struct {
	Method string
	Info   *request.Info
}

// Claimant is a handler of a PathRecorderMux that answers some of the requests below
// its prefix, and hands the others on to the delegate of its server.
type Claimant interface {
	http.Handler
	// Claims lists what it answers now.
	Claims() []Claim
	// ClaimOf returns the claim that covers a request; false hands it on.
	ClaimOf(Inquiry) (Claim, bool)
}

// ServerName implements DelegationTarget.
func (s *GenericAPIServer) ServerName() string { return s.Name }

// Claims implements DelegationTarget.
func (s *GenericAPIServer) Claims() []Claim {
	h := s.Handler
	var claims []Claim
	for _, ws := range h.GoRestfulContainer.RegisteredWebServices() {
		claims = append(claims, Claim{Path: strings.TrimSuffix(ws.RootPath(), "/"), Rule: RuleRoutes})
	}
	claims = append(claims, h.NonGoRestfulMux.claims()...)
	slices.SortStableFunc(claims, func(a, b Claim) int { return strings.Compare(a.Path, b.Path) })
	return outline(claims)
}

// outline leaves out the paths below another path, as single health checks are.
func outline(claims []Claim) []Claim {
	paths := map[string]bool{}
	for _, c := range claims {
		if c.Rule == RulePath {
			paths[c.Path] = true
		}
	}
	return slices.DeleteFunc(claims, func(c Claim) bool {
		if c.Rule != RulePath && c.Rule != RulePrefix {
			return false
		}
		path := strings.TrimSuffix(c.Path, "/")
		if c.Rule == RulePrefix && paths[path] {
			return true
		}
		for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
			if paths[path[:i]] {
				return true
			}
		}
		return false
	})
}

// ClaimOf implements DelegationTarget.
func (s *GenericAPIServer) ClaimOf(q Inquiry) (Claim, bool) {
	h := s.Handler
	if c, ok := h.router.claimOf(h.GoRestfulContainer, q); ok {
		return c, true
	}
	return h.NonGoRestfulMux.claimOf(q)
}

func (emptyDelegate) ServerName() string { return metrics.ByNone }
func (emptyDelegate) Claims() []Claim    { return nil }
func (emptyDelegate) ClaimOf(q Inquiry) (Claim, bool) {
	return Claim{Path: q.Info.Path, Rule: RuleNone}, true
}

func (m *PathRecorderMux) claims() []Claim {
	var claims []Claim
	table := m.table.Load()
	table.exact.Scan(func(path string, _ route) bool {
		claims = append(claims, Claim{Path: path, Rule: RulePath})
		return true
	})
	table.prefixes.Scan(func(path string, r route) bool {
		if some, ok := r.handler.(Claimant); ok {
			claims = append(claims, some.Claims()...)
		} else {
			claims = append(claims, Claim{Path: path, Rule: RulePrefix})
		}
		return true
	})
	return claims
}

func (m *PathRecorderMux) claimOf(q Inquiry) (Claim, bool) {
	path, exact, h := m.table.Load().match(q.Info.Path)
	if some, ok := h.(Claimant); ok {
		return some.ClaimOf(q)
	}
	rule := RulePrefix
	if exact {
		rule = RulePath
	}
	return Claim{Path: path, Rule: rule}, path != ""
}

// claimOf returns the service that is rooted at the path or above it, with the route.
func (r *router) claimOf(c *restful.Container, q Inquiry) (Claim, bool) {
	svc, root := findService(*r.services(c), q.Info.Path)
	if root == "" {
		return Claim{}, false
	}
	claim := Claim{Path: root, Rule: RuleRoutes}
	if route := svc.index().find(below(q.Info.Path, root), q.Method); route != nil {
		claim.Route = route.Method + " " + route.Path
	}
	return claim, true
}
