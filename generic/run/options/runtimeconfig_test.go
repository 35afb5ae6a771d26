package options

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRuntimeConfig(t *testing.T) {
	apps, core := schema.GroupVersion{Group: "apps", Version: "v1"}, schema.GroupVersion{Version: "v1"}
	alpha := schema.GroupVersion{Group: "apps", Version: "v1alpha1"}
	for _, c := range []struct {
		value  string
		err    string
		served string // of core configmaps, pods; apps v1 deployments, daemonsets; v1alpha1
	}{
		{"", "", "configmaps pods deployments daemonsets"},
		{"apps/v1/deployments=false", "", "configmaps pods daemonsets"},
		{"v1/configmaps=false", "", "pods deployments daemonsets"},
		{"api/all=false,v1=true", "", "configmaps pods"},
		{"api/all=false,apps/v1/deployments=true", "", "deployments"},
		{"api/alpha=true", "", "configmaps pods deployments daemonsets alphas"},
		{"apps/v1alpha1", "", "configmaps pods deployments daemonsets alphas"},
		{"api/all=true", "", "configmaps pods deployments daemonsets alphas"},
		{"api/alpha=true,api/ga=false", "", "alphas"},
		{"apps/v1=false,apps/v1/deployments", "", "configmaps pods deployments"},
		{"api/all=false", "invalid key with only api/all=false", ""},
		{"v2=true", "group version v2 that has not been registered", ""},
		{"v2/pods=true", "unknown api groups v2", ""},
		{"api/gamma=true", "unknown api groups api", ""},
		{"app/v1=true", "unknown api groups app", ""},
		{"apps/v7=true", "group version apps/v7 that has not been registered", ""},
	} {
		var config RuntimeConfig
		if err := config.Set(c.value); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range []struct {
			version schema.GroupVersion
			name    string
		}{{core, "configmaps"}, {core, "pods"}, {apps, "deployments"}, {apps, "daemonsets"}, {alpha, "alphas"}} {
			if config.Serves(r.version, r.name) {
				got = append(got, r.name)
			}
		}
		errs := config.Validate(func(group string) bool { return group == "apps" },
			func(gv schema.GroupVersion) bool { return gv == core || gv == apps || gv == alpha })
		text := ""
		for _, err := range errs {
			text += err.Error()
		}
		if text != c.err || c.err == "" && strings.Join(got, " ") != c.served {
			t.Errorf("%q: %q, serves %v; want %q, %s", c.value, text, got, c.err, c.served)
		}
	}
}
