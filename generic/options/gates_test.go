package options

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestFeatureGates(t *testing.T) {
	for _, c := range []struct{ value, gate, wrong string }{
		{"", "ComponentFlagz", ""},
		{"", "!" + GateCBOR, ""},
		{"CBORServingAndStorage=true", GateCBOR, ""},
		{"kube:CBORServingAndStorage=true,AllAlpha=false", GateCBOR, ""},
		{"AllAlpha=true", GateCBOR, ""},
		{"AllAlpha=true,CBORServingAndStorage=false", "!" + GateCBOR, ""},
		{"AllBeta=false", "!ComponentFlagz", ""},
		{"PodSecurity=true,JobTrackingWithFinalizers=true", "!" + GateCBOR, ""},
		{"Nosuch=true", "", "unrecognized feature gate: Nosuch"},
		{"other:CBORServingAndStorage=true", "", "component not registered: other"},
		{"CBORServingAndStorage", "", "missing bool value"},
		{"CBORServingAndStorage=maybe", "", "invalid value"},
	} {
		var g FeatureGates
		err := g.Set(c.value)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%q: %v, want %q", c.value, err, c.wrong)
			}
			continue
		}
		name, off := strings.CutPrefix(c.gate, "!")
		if err != nil || g.Enabled(name) == off {
			t.Errorf("%q: %v, %s is %v", c.value, err, name, g.Enabled(name))
		}
	}
}

func TestRuntimeConfig(t *testing.T) {
	apps, beta := schema.GroupVersion{Group: "apps", Version: "v1"}, schema.GroupVersion{Group: "apps", Version: "v1beta1"}
	known := func(group string) bool { return group == "apps" || group == "batch" }
	for _, c := range []struct {
		value                  string
		stable, beta           bool
		wrong                  string
		noDeploys, onlyDeploys bool
	}{
		{value: "", stable: true},
		{value: "apps/v1=false"},
		{value: "apps/v1beta1", stable: true, beta: true},
		{value: "api/all=false,apps/v1=true", stable: true},
		{value: "api/beta=true,api/ga=false", beta: true},
		{value: "api/all=true", stable: true, beta: true},
		{value: "v1=false,batch/v1=false", stable: true},
		{value: "apps/v1/deployments=false", stable: true, noDeploys: true},
		{value: "apps/v1=false,apps/v1/deployments", onlyDeploys: true},
		{value: "api/all=false", wrong: "invalid key with only api/all=false"},
		{value: "nosuch/v1=true", wrong: "unknown api groups nosuch"},
		{value: "apps/v9=true", wrong: "group version apps/v9 that has not been registered"},
		{value: "v9=true", wrong: "group version v9 that has not been registered"},
	} {
		var r RuntimeConfig
		if err := r.Set(c.value); err != nil {
			t.Errorf("%q: %v", c.value, err)
			continue
		}
		errs := r.Validate(known, func(gv schema.GroupVersion) bool { return gv.Version != "v9" })
		if c.wrong != "" {
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), c.wrong) {
				t.Errorf("%q: %v, want %q", c.value, errs, c.wrong)
			}
			continue
		}
		stable, unstable, deployments := r.Serves(apps, "daemonsets"), r.Serves(beta, "daemonsets"), r.Serves(apps, "deployments/status")
		if len(errs) > 0 || stable != c.stable || unstable != c.beta || deployments != (c.stable && !c.noDeploys || c.onlyDeploys) {
			t.Errorf("%q: %v, apps/v1 %v, apps/v1beta1 %v, deployments %v", c.value, errs, stable, unstable, deployments)
		}
	}
	for _, wrong := range []string{"apps/v1=maybe", "a/b/c/d=true"} {
		if err := new(RuntimeConfig).Set(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

func TestIgnoredFlags(t *testing.T) {
	for _, c := range []struct {
		args  string
		given int
		wrong bool
	}{
		{"--watch-cache --watch-cache-sizes=pods#10 --peer-ca-file=x", 3, false},
		{"--enable-garbage-collector=false", 1, false},
		{"--watch-cache=maybe", 0, true},
		{"--etcd-count-metric-poll-period=soon", 0, true},
		{"--emulated-version=1.36", 0, false},
		{"--emulated-version=1.35", 0, true},
		{"--min-compatibility-version=kube=1.35", 0, false},
		{"--min-compatibility-version=kube=2", 0, true},
		{"--storage-backend=etcd3", 0, false},
		{"--storage-backend=etcd2", 0, true},
	} {
		var o Ignored
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.AddFlags(fs)
		if err := fs.Parse(strings.Fields(c.args)); (err != nil) != c.wrong || len(o.given) != c.given {
			t.Errorf("%s: %v, given %q", c.args, err, o.given)
		}
	}
}
