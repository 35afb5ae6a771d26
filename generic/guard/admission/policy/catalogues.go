package policy

import (
	"context"
	"slices"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/match"
)

// catalogues are the policies of manifests, which come first, and those of the API. Bindings never refer to
// policies of the other catalogue.
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

// Set replaces all policies and bindings of the API. Policies without a binding have no effect.
func (c *catalogues[P, B, C]) Set(policies []P, bindings []B) { c.served.Set(policies, bindings) }

// SetStatic replaces all policies and bindings of manifests.
func (c *catalogues[P, B, C]) SetStatic(policies []P, bindings []B) {
	c.static.Set(policies, bindings)
}

// names returns the names of the policies, with those of their bindings.
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

// idle reports whether there are no policies, and stored ones are synced.
func (c *catalogues[P, B, C]) idle() bool {
	return c.served.empty() && c.static.empty() && c.gate.IsOpen()
}

// policiesFor returns the policies that may apply to an operation, after stored ones are synced. Policies of
// the API do not apply to writes of policies.
func (c *catalogues[P, B, C]) policiesFor(ctx context.Context, a *admission.Attributes) ([]C, error) {
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
