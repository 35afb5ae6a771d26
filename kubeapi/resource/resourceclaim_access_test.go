package resource

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
)

// permissions are what is allowed, as VERB SUBRESOURCE NAMESPACE/NAME.
type permissions []string

func (p permissions) Authorize(_ context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	if slices.Contains(p, a.Verb+" "+a.Subresource+" "+a.Namespace+"/"+a.Name) {
		return authorizer.Allow, "", nil
	}
	return authorizer.NoOpinion, "", nil
}

func TestStatusAccess(t *testing.T) {
	on := func(fields ...string) *corev1.NodeSelector {
		s := &corev1.NodeSelector{}
		for _, node := range fields {
			s.NodeSelectorTerms = append(s.NodeSelectorTerms, corev1.NodeSelectorTerm{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}})
		}
		return s
	}
	claimOf := func(selector *corev1.NodeSelector, drivers ...string) claim {
		c := &resourcev1.ResourceClaim{}
		c.Namespace = "n"
		c.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: selector}
		for _, d := range drivers {
			c.Status.Devices = append(c.Status.Devices, resourcev1.AllocatedDeviceStatus{Driver: d, Pool: "p", Device: "d"})
		}
		return c
	}
	none := &resourcev1.ResourceClaim{}
	none.Namespace = "n"
	const binding, associated, arbitrary = "patch binding /", "associated-node:patch driver n/d", "arbitrary-node:patch driver n/d"
	for _, c := range []struct {
		name     string
		now, old claim
		allowed  permissions
		refused  string // parts of the errors, separated by |
	}{
		{"nothing changes", claimOf(nil, "d", "e"), claimOf(nil, "e", "d"), nil, ""},
		{"allocation", claimOf(nil), none, nil, "resourceclaims/binding"},
		{"allocation by a scheduler", claimOf(nil), none, permissions{binding}, ""},
		{"an end of the allocation, and of devices", none, claimOf(nil, "d"), permissions{binding}, ""},
		{"devices", claimOf(nil, "d"), claimOf(nil), permissions{binding}, `verb="[arbitrary-node:patch]"`},
		{"devices go", claimOf(nil), claimOf(nil, "d"), nil, "resourceclaims/driver"},
		{"devices on any node", claimOf(nil, "d"), claimOf(nil), permissions{arbitrary}, ""},
		{"devices of two drivers", claimOf(nil, "d", "e"), claimOf(nil), permissions{arbitrary}, `resourceclaims.resource.k8s.io "e" is forbidden`},
		{"devices on the own node", claimOf(on("here"), "d"), claimOf(on("here")), permissions{associated}, ""},
		{"devices on the own node, not allowed", claimOf(on("here"), "d"), claimOf(on("here")), nil, `verb="[associated-node:patch arbitrary-node:patch]"|cannot associated-node:patch`},
		{"devices on another node", claimOf(on("there"), "d"), claimOf(on("there")), permissions{associated}, `verb="[arbitrary-node:patch]"`},
		{"devices on one of two nodes", claimOf(on("here", "there"), "d"), claimOf(on("here", "there")), permissions{associated}, `verb="[arbitrary-node:patch]"`},
		{"everything", claimOf(nil, "d"), none, nil, "resourceclaims/binding|resourceclaims/driver"},
	} {
		who := &user.Info{Name: "system:serviceaccount:n:driver", Extra: map[string][]string{user.NodeNameKey: {"here"}}}
		ctx := request.WithUser(request.WithInfo(t.Context(), &request.Info{Verb: "patch"}), who)
		errs := (&statusAccess{c.allowed}).validate(ctx, c.now, c.old)
		text := ""
		if len(errs) > 0 {
			text = errs.ToAggregate().Error()
		}
		if c.refused == "" && text != "" {
			t.Errorf("%s: %s", c.name, text)
		}
		for part := range strings.SplitSeq(c.refused, "|") {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q does not say %s", c.name, text, part)
			}
		}
	}
	for _, who := range []*user.Info{nil, {Name: "admin", Groups: []string{user.SystemPrivileged}}} {
		if errs := (&statusAccess{permissions{}}).validate(request.WithUser(t.Context(), who), claimOf(nil), none); len(errs) > 0 {
			t.Errorf("%+v: %v", who, errs)
		}
	}
}
