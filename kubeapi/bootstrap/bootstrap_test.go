package bootstrap

import (
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"triplane.dev/generic/guard/flowcontrol"
)

func TestNumbers(t *testing.T) {
	for name, n := range map[string][2]int{
		"cluster roles": {len(ClusterRoles(noFeatures)), 68}, "cluster role bindings": {len(ClusterRoleBindings(noFeatures)), 49},
		"cluster roles of all features": {len(ClusterRoles(allFeatures)), 78}, "cluster role bindings of all features": {len(ClusterRoleBindings(allFeatures)), 59},
		"roles": {len(roles()), 7}, "role bindings": {len(roleBindings()), 7},
		"flow schemas": {len(flowcontrol.DefaultSchemas()), 11}, "priority levels": {len(flowcontrol.DefaultLevels()), 8},
	} {
		if n[0] != n[1] {
			t.Errorf("%d %s, want %d", n[0], name, n[1])
		}
	}
}

func noFeatures(string) bool { return false }

func allFeatures(string) bool { return true }

// Rules about resources that a feature adds come with it, in their place, and not before.
func TestRulesOfFeatures(t *testing.T) {
	rulesOf := func(on Features, name string) []rbacv1.PolicyRule {
		for _, r := range ClusterRoles(on) {
			if r.Name == name {
				return r.Rules
			}
		}
		return nil
	}
	for _, c := range []struct{ gate, role, verbs, resource string }{
		{"ClusterTrustBundle", "system:node", "get list watch", "clustertrustbundles"},
		{"PodCertificateRequest", "system:node", "create get list watch", "podcertificaterequests"},
		{"GenericWorkload", "system:aggregate-to-edit", "create delete deletecollection patch update", "podgroups workloads"},
		{"GenericWorkload", "system:aggregate-to-view", "get list watch", "podgroups podgroups/status workloads"},
		{"GenericWorkload", "system:kube-scheduler", "patch update", "podgroups/status"},
		{granularClaims, "system:kube-scheduler", "patch update", "resourceclaims/binding"},
		{granularClaims, "system:controller:resource-claim-controller", "patch update", "resourceclaims/binding"},
		{"DRAExtendedResource", "system:kube-scheduler", "create delete", "resourceclaims"},
		{"DRADeviceTaints", "system:controller:device-taint-eviction-controller", "patch update", "pods/status"},
		{"DRADeviceTaintRules", "system:kube-scheduler", "get list watch", "devicetaintrules"},
		{"DRADeviceTaintRules", "system:controller:device-taint-eviction-controller", "patch update", "devicetaintrules/status"},
		{"DRAWorkloadResourceClaims", "system:controller:resource-claim-controller", "get list watch", "podgroups"},
		{"WorkloadWithJob", "system:controller:job-controller", "create get list patch update watch", "podgroups workloads"},
		{"CompositePodGroup", "system:aggregate-to-edit", "create delete deletecollection patch update", "compositepodgroups"},
		{"CompositePodGroup", "system:kube-scheduler", "patch update", "compositepodgroups/status"},
		{"EvictionRequestAPI", "system:aggregate-to-edit", "create delete deletecollection patch update", "evictionrequests"},
		{"EvictionRequestAPI", "system:aggregate-to-view", "get list watch", "evictionrequests evictions"},
		{"CSIVolumeHealth", "system:node", "get patch update", "csinodes/status"},
	} {
		has := func(on Features) bool {
			return slices.ContainsFunc(rulesOf(on, c.role), func(r rbacv1.PolicyRule) bool {
				return slices.Equal(r.Verbs, words(c.verbs)) && slices.Equal(r.Resources, words(c.resource))
			})
		}
		if !has(func(gate string) bool { return gate == c.gate || gate == "DRADeviceTaints" }) || has(func(gate string) bool { return gate != c.gate }) {
			t.Errorf("%s may %s %s without %s, or not with it", c.role, c.verbs, c.resource, c.gate)
		}
	}
	for _, r := range ClusterRoles(noFeatures) {
		for _, rule := range r.Rules {
			if len(rule.Verbs) == 0 {
				t.Errorf("%s has an empty rule", r.Name)
			}
		}
	}
}

func TestBindingsPointToRoles(t *testing.T) {
	known := map[string]bool{}
	for _, r := range ClusterRoles(allFeatures) {
		if known[r.Name] {
			t.Errorf("%s twice", r.Name)
		}
		known[r.Name] = true
	}
	for _, b := range ClusterRoleBindings(allFeatures) {
		if !known[b.RoleRef.Name] {
			t.Errorf("%s points to %s, which is not there", b.Name, b.RoleRef.Name)
		}
	}
}

func TestRepairAddsWhatIsMissing(t *testing.T) {
	set := clusterRoleSet(nil, nil, nil)
	want := clusterRole("x", rule("get list", "core", "pods"))
	have := clusterRole("x", rule("get", "core", "pods"), rule("get", "apps", "deployments"))
	if !set.repair(have, want) || len(have.Rules) != 3 {
		t.Errorf("got %v", have.Rules)
	}
	if set.repair(have, want) {
		t.Error("a repaired role is repaired again")
	}
	left := clusterRole("x")
	left.Annotations[autoUpdate] = "false"
	if set.repair(left, want) {
		t.Error("a role is repaired that is to be left alone")
	}
}

func TestPublicInformationIsInherited(t *testing.T) {
	for name, autoupdate := range map[string]string{"kept by its administrator": "false", "kept up to date": "true"} {
		t.Run(name, func(t *testing.T) {
			discovery := clusterBinding("system:discovery", "system:discovery", groupSubject("staff"))
			discovery.Annotations = map[string]string{autoUpdate: autoupdate, "a": "b"}
			find := func(name string) (*rbacv1.ClusterRoleBinding, bool) { return discovery, name == discovery.Name }
			got := clusterBinding("system:public-info-viewer", "system:public-info-viewer", groupSubject("system:authenticated"))
			inheritPublicInfo(got, find)

			want := []rbacv1.Subject{groupSubject("staff")}
			if autoupdate == "true" {
				want = append(want, groupSubject("system:authenticated"))
			}
			if !slices.Equal(got.Subjects, want) || !maps.Equal(got.Annotations, discovery.Annotations) || got.RoleRef.Name != "system:public-info-viewer" {
				t.Errorf("%+v", got)
			}
		})
	}
	other := clusterBinding("other", "other")
	inheritPublicInfo(other, func(string) (*rbacv1.ClusterRoleBinding, bool) { t.Error("asked"); return nil, false })
}

func TestManagedFields(t *testing.T) {
	r := clusterRole("x", rule("get", "core", "pods"))
	fields := clusterRoleSet(nil, nil, nil).fields(r)
	want := `{"f:metadata":{"f:annotations":{".":{},"f:rbac.authorization.kubernetes.io/autoupdate":{}},"f:labels":{".":{},"f:kubernetes.io/bootstrapping":{}}},"f:rules":{}}`
	if len(fields) != 1 || fields[0].Manager != "kube-apiserver" || string(fields[0].FieldsV1.Raw) != want {
		t.Errorf("got %s", fields[0].FieldsV1.Raw)
	}
}

func TestInParallelRunsAllAndJoinsErrors(t *testing.T) {
	var ran atomic.Int32
	boom := errors.New("boom")
	var work []func() error
	for i := range 50 {
		work = append(work, func() error {
			ran.Add(1)
			if i == 7 {
				return boom
			}
			return nil
		})
	}
	if err := inParallel(work); !errors.Is(err, boom) || ran.Load() != 50 {
		t.Errorf("%d ran, error %v", ran.Load(), err)
	}
}
