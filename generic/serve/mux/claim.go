package mux

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"triplane.dev/generic/base/request"
)

// Rule is the kind of registration by which a server claims a path.
type Rule string

// Rules of the generic server; handlers that are Claimants define more.
const (
	// RuleRoutes is a service. It claims everything below its root, even if none of its routes matches.
	RuleRoutes Rule = "routes"
	// RulePath is a path of the PathRecorderMux, RulePrefix is a prefix.
	RulePath   Rule = "path"
	RulePrefix Rule = "prefix"
	// RuleNone means no claim: the end of the chain responds 404.
	RuleNone Rule = "none"
)

// Claim is a path that a server serves itself instead of delegating it.
type Claim struct {
	// Path is exact for RulePath; all other rules claim everything below it, too.
	Path string `json:"path"`
	Rule Rule   `json:"rule"`
	// Object is the object behind the claim, for example an APIService or a CustomResourceDefinition.
	Object string `json:"object,omitempty"`
	// Route is the matching route; "" if none matches or the claim is not for one request.
	Route string `json:"route,omitempty"`
	// External is the server to which the claimed requests are proxied; nil if they are served locally.
	External *External `json:"external,omitempty"`
}

// External is a server to which requests are proxied.
type External struct {
	Service   string `json:"service"` // NAMESPACE/NAME:PORT
	Available bool   `json:"available"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
	// Requests counts the proxied requests, Failed those without a response or with a status of 500 or more.
	Requests uint64 `json:"requests"`
	Failed   uint64 `json:"failed"`
	// LatencySeconds is the moving average of the time to response headers, including those of availability
	// checks; 0 if there was none.
	LatencySeconds float64 `json:"latencySeconds"`
}

// Inquiry describes a request for ClaimOf, without sending it.
type Inquiry struct {
	Method string
	Info   *request.Info
}

// Claimant is a handler of a PathRecorderMux that serves some of the requests below its prefix, and passes the
// others to the delegate of its server.
type Claimant interface {
	http.Handler
	// Claims returns the current claims.
	Claims() []Claim
	// ClaimOf returns the claim that covers a request; false if the handler delegates it.
	ClaimOf(Inquiry) (Claim, bool)
}

// Claims returns the paths of the container and the mux, by path.
func (h *APIServerHandler) Claims() []Claim {
	var claims []Claim
	for path := range h.router.services() {
		claims = append(claims, Claim{Path: path, Rule: RuleRoutes})
	}
	claims = append(claims, h.NonGoRestfulMux.claims()...)
	slices.SortStableFunc(claims, func(a, b Claim) int { return strings.Compare(a.Path, b.Path) })
	return outline(claims)
}

// ClaimOf returns the claim that covers a request; false if the handler delegates it.
func (h *APIServerHandler) ClaimOf(q Inquiry) (Claim, bool) {
	if c, ok := h.router.claimOf(q); ok {
		return c, true
	}
	return h.NonGoRestfulMux.claimOf(q)
}

// outline drops paths below another path, for example single health checks.
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

func (m *PathRecorderMux) claims() []Claim {
	var claims []Claim
	table := m.published()
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
	path, exact, h := m.published().match(q.Info.Path)
	if some, ok := h.(Claimant); ok {
		return some.ClaimOf(q)
	}
	rule := RulePrefix
	if exact {
		rule = RulePath
	}
	return Claim{Path: path, Rule: rule}, path != ""
}

// claimOf returns the service whose root is the path or an ancestor of it, with the matching route.
func (r *router) claimOf(q Inquiry) (Claim, bool) {
	s, root := r.find(q.Info.Path)
	if s == nil {
		return Claim{}, false
	}
	claim := Claim{Path: root, Rule: RuleRoutes}
	if s.container == nil {
		if route := s.route(q.Info.Path, q.Method, root); route != nil {
			claim.Route = route.Method + " " + route.Path
		}
	}
	return claim, true
}

// String returns the claim as text for people.
func (c Claim) String() string {
	parts := []string{c.Path, "(" + string(c.Rule)}
	if c.Object != "" {
		parts = append(parts, c.Object)
	}
	if c.Route != "" {
		parts = append(parts, c.Route)
	}
	out := strings.Join(parts, " ") + ")"
	if e := c.External; e != nil {
		state := "available"
		if !e.Available {
			state = "unavailable: " + e.Reason + ": " + e.Message
		}
		out += fmt.Sprintf(" → %s, %s, %d requests, %d failed, %.1f ms", e.Service, state, e.Requests, e.Failed,
			e.LatencySeconds*1000)
	}
	return out
}
