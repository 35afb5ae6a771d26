package options

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/version"
)

func TestFeatureGates(t *testing.T) {
	for _, c := range []struct{ args, gate, wrong string }{
		{"", "ComponentFlagz", ""},
		{"", "!" + GateCBOR, ""},
		{"--feature-gates=CBORServingAndStorage=true", GateCBOR, ""},
		{"--feature-gates=kube:CBORServingAndStorage=true,AllAlpha=false", "", "do not mix use"},
		{"--feature-gates=kube:CBORServingAndStorage=true,kube:AllAlpha=false", GateCBOR, ""},
		{"--feature-gates=AllAlpha=true,AllBeta=true", GateCBOR, ""},
		{"--feature-gates=AllAlpha=true --feature-gates=AllBeta=true,CBORServingAndStorage=false", "!" + GateCBOR, ""},
		{"--feature-gates=ComponentFlagz=false", "!ComponentFlagz", ""},
		{"--feature-gates=PodSecurity=true,JobTrackingWithFinalizers=true", "!" + GateCBOR, ""},
		{"--feature-gates=Nosuch=true", "", "unrecognized feature gate: Nosuch"},
		{"--feature-gates=other:CBORServingAndStorage=true", "", "component not registered: other"},
		{"--feature-gates=CBORServingAndStorage", "", "missing bool value"},
		{"--feature-gates=CBORServingAndStorage=maybe", "", "invalid value"},
		{"--feature-gates=ImageVolume=true", "ImageVolume", ""},
		{"--feature-gates=ImageVolume=false", "", "cannot set feature gate ImageVolume to false, feature is locked to true"},
		{"--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false", "!APIServerIdentity", ""},
		{"--feature-gates=APIServerIdentity=false", "", "UnknownVersionInteroperabilityProxy is enabled, but depends on features that are disabled: [APIServerIdentity]"},

		{"--emulated-version=1.36", "StrictIPCIDRValidation", ""},
		{"--emulated-version=kube=1.35", "!StrictIPCIDRValidation", ""},
		{"--feature-gates=ImageVolume=false --emulated-version=1.35", "!ImageVolume", ""},
		{"--emulated-version=1.34", "!ImageVolume", ""},
		{"--emulated-version=1.36", "!ClusterTrustBundle", ""},
		{"--emulated-version=1.37", "ClusterTrustBundle", ""},
		{"--emulated-version=1.35 --feature-gates=ShardedListAndWatch=true", "", "cannot set feature gate ShardedListAndWatch to true, feature is PreAlpha at emulated version 1.35"},
		{"--emulated-version=1.33", "", "emulation version 1.33 is not between [1.34, 1.37"},
		{"--emulated-version=1.38", "", "emulation version 1.38 is not between [1.34, 1.37"},
		{"--emulated-version=other=1.35", "", "component not registered: other"},
		{"--emulated-version=1.35.2", "", "patch version not allowed"},
		{"--emulated-version=1.35,kube=1.34", "", "duplicate version flag"},
		{"--emulated-version=new", "", "could not parse"},
		{"--min-compatibility-version=1.36", "ComponentFlagz", ""},
		{"--emulated-version=1.34 --min-compatibility-version=1.35", "", "minCompatibilityVersion version 1.35 is not between [1.34, 1.34]"},
		{"--emulation-forward-compatible", "", "--emulation-forward-compatible cannot be set to true"},
		{"--emulation-forward-compatible --emulated-version=1.35", "!StrictIPCIDRValidation", ""},
	} {
		o := NewCompatibility()
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.AddFlags(fs)
		err := fs.Parse(strings.Fields(c.args))
		if err == nil {
			err = errors.Join(o.Validate()...)
		}
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%q: %v, want %q", c.args, err, c.wrong)
			}
			continue
		}
		name, off := strings.CutPrefix(c.gate, "!")
		if err != nil || o.Enabled(name) == off {
			t.Errorf("%q: %v, %s is %v", c.args, err, name, !off)
		}
	}
}

// TestGateTable checks the table: rows are sorted, have an effect, and contain no removed gate.
func TestGateTable(t *testing.T) {
	before := ""
	for _, g := range gates() {
		if name := string(g.name); name <= before {
			t.Errorf("%s comes after %s", name, before)
		} else {
			before = name
		}
		if g.here != followed && g.here != elsewhere && g.here != fixed {
			t.Errorf("%s: %q is no effect", g.name, g.here)
		}
		if slices.Contains(strings.Fields(removedTable), string(g.name)) {
			t.Errorf("%s is among the removed ones", g.name)
		}
	}
	if _, err := newGates(version.MustParse(servedVersion)); err != nil {
		t.Error(err)
	}
}

func TestIgnoredFlags(t *testing.T) {
	for _, c := range []struct {
		args  string
		given int
		wrong bool
	}{
		{"--enable-garbage-collector --watch-cache-sizes=pods#10 --kubelet-read-only-port=1", 3, false},
		{"--enable-garbage-collector=false", 1, false},
		{"--enable-garbage-collector=maybe", 0, true},
		{"--etcd-count-metric-poll-period=soon", 0, true},
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
