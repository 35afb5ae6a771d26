package admission

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	restclient "k8s.io/client-go/rest"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/configuration"
	"triplane.dev/kubeapi/group"
)

func TestTableOfPlugins(t *testing.T) {
	seen := map[string]bool{}
	var off []string
	for _, row := range Table() {
		if seen[row.Name] {
			t.Errorf("%s is there twice", row.Name)
		}
		seen[row.Name] = true
		if !row.OnByDefault {
			off = append(off, row.Name)
		}
		if (row.make == nil) == (row.configure == nil) {
			t.Errorf("%s is made in no way, or in two", row.Name)
		}
	}
	want := []string{"AlwaysAdmit", "NamespaceAutoProvision", "NamespaceExists", "LimitPodHardAntiAffinityTopology",
		"NodeRestriction",
		"AlwaysPullImages", "ImagePolicyWebhook", "PodNodeSelector", "PodTolerationRestriction", "EventRateLimit",
		"ExtendedResourceToleration",
		"OwnerReferencesPermissionEnforcement", "DenyServiceExternalIPs", "AlwaysDeny"}
	if !slices.Equal(off, want) {
		t.Errorf("off by default: %q, want %q", off, want)
	}
}

func loopback() *restclient.Config { return &restclient.Config{Host: "http://loopback.invalid"} }

// read parses an AdmissionConfiguration.
func read(t *testing.T, text string, enabled ...string) *configuration.Plugins {
	t.Helper()
	file := filepath.Join(t.TempDir(), "admission.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := configuration.Read(file, enabled)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newPlugins returns the named plugins.
func newPlugins(names ...string) (*Plugins, error) {
	return New(Dependencies{Stores: group.NewStores(), Loopback: loopback(),
		FeatureEnabled: func(string) bool { return true }},
		func(name string) bool { return slices.Contains(names, name) })
}

func TestPluginsMutateOrValidate(t *testing.T) {
	if _, err := newPlugins(allNames()...); err == nil || !strings.Contains(err.Error(),
		"couldn't init admission plugin \"ImagePolicyWebhook\"") {
		t.Fatal(err)
	}
	some := slices.DeleteFunc(allNames(), func(n string) bool {
		return n == "ImagePolicyWebhook" ||
			n == "EventRateLimit"
	})
	p, err := newPlugins(some...)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Chain.Names(), some) {
		t.Errorf("%q run, want %q", p.Chain.Names(), some)
	}
}

func allNames() []string {
	var all []string
	for _, row := range Table() {
		all = append(all, row.Name)
	}
	return all
}

// chainOf returns a chain of unnamed plugins.
func chainOf(plugins ...admission.Interface) admission.Chain {
	var named []admission.Named
	for _, p := range plugins {
		named = append(named, admission.Named{Plugin: p})
	}
	return admission.NewChain(nil, named...)
}
