package policy

import (
	"context"
	"slices"

	"triplane/generic/guard/admission"
	"triplane/generic/guard/admission/match"
)

// catalogues are the policies of manifests, which come first, and those of the API. Neither
// has bindings of the other.
type catalogues[P, B stored, C compiled[C]] struct {
	static, served catalogue[P, B, C]
	gate           *admission.Gate
}

func (c *catalogues[P, B, C]) init(gate *admission.Gate, policy func(P) (C, error), binding func(B) (*binding, error)) {
	c.gate = gate
	for _, one := range []*catalogue[P, B, C]{&c.static, &c.served} {
		one.compilePolicy, one.compileBinding = policy, binding
	}
}

// Set replaces all policies and bindings of the API. Policies without a binding do nothing.
func (c *catalogues[P, B, C]) Set(policies []P, bindings []B) { c.served.Set(policies, bindings) }

// SetStatic is Set of those that manifests define.
func (c *catalogues[P, B, C]) SetStatic(policies []P, bindings []B) {
	c.static.Set(policies, bindings)
}

// names are those of the policies in force with their bindings.
func (c *catalogues[P, B, C]) names() map[string][]string {
	all := map[string][]string{}
	for _, each := range []*catalogue[P, B, C]{&c.static, &c.served} {
		for _, p := range each.all() {
			policy, bindings := p.names()
			all[policy] = append(all[policy], bindings...)
		}
	}
	return all
}

// idle reports whether no policy is in force, nor may be without being known yet.
func (c *catalogues[P, B, C]) idle() bool {
	return c.served.empty() && c.static.empty() && c.gate.IsOpen()
}

// seeing returns the policies that an operation is shown to, when they are known. Those of the
// API do not see what changes policies.
func (c *catalogues[P, B, C]) seeing(ctx context.Context, a *admission.Attributes) ([]C, error) {
	if match.Review(a) {
		return nil, nil
	}
	static := c.static.all()
	if match.Policy(a) {
		return static, nil
	}
	if err := c.gate.Wait(ctx, a); err != nil {
		return nil, err
	}
	if len(static) == 0 {
		return c.served.all(), nil
	}
	return slices.Concat(static, c.served.all()), nil
}
