package triplane

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestRuntimeConfigOfPartsThatRun starts servers without APIs: each becomes ready or reports the conflict.
func TestRuntimeConfigOfPartsThatRun(t *testing.T) {
	const extensions = ",apiregistration.k8s.io/v1=true,apiextensions.k8s.io/v1=true"
	for _, c := range []struct {
		name, config string
		allow        bool // authorizes everything, without webhooks and policies
		conflicts    []string
		groups       int
	}{
		{"core alone", "api/all=false,v1=true", false, []string{"the aggregator", "RBAC", "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook", "ValidatingAdmissionPolicy"}, 0},
		{"no roles", "rbac.authorization.k8s.io/v1/roles=false", false, []string{"turns off roles of rbac.authorization.k8s.io/v1, which RBAC reads"}, 0},
		{"what parts read", "api/all=false,rbac.authorization.k8s.io/v1=true,admissionregistration.k8s.io/v1=true" + extensions, false, nil, 4},
		{"without those parts", "api/all=false" + extensions, true, nil, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions(t.TempDir())
			if err := o.Kube.RuntimeConfig.Set(c.config); err != nil {
				t.Fatal(err)
			}
			if c.allow {
				o.Authorization.Modes = []string{"AlwaysAllow"}
				o.Admission.Disable = []string{"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook", "ValidatingAdmissionPolicy"}
			}
			s, err := Start(t.Context(), o)
			for _, conflict := range c.conflicts {
				if err == nil || !strings.Contains(err.Error(), conflict) {
					t.Errorf("%q is not in: %v", conflict, err)
				}
			}
			if len(c.conflicts) > 0 {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Stop()
			var groups *metav1.APIGroupList
			if groups, err = kubernetes.NewForConfigOrDie(s.ClientConfig()).ServerGroups(); err != nil || len(groups.Groups) != c.groups {
				t.Errorf("%v, %v", groups, err)
			}
		})
	}
}
