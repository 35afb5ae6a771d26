package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

func TestNamespaceAutoProvision(t *testing.T) {
	for name, want := range map[string]string{"new": "", "taken": "",
		"invalid": `pods "p" is forbidden: Namespace "invalid" is invalid`,
		"denied":  `namespaces "denied" is forbidden: no`} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			namespaces := schema.GroupResource{Resource: "namespaces"}
			err := map[string]*apierrors.StatusError{
				"taken":   apierrors.NewAlreadyExists(namespaces, name),
				"invalid": apierrors.NewInvalid(schema.GroupKind{Kind: "Namespace"}, name, nil),
				"denied":  apierrors.NewForbidden(namespaces, name, errors.New("no")),
			}[name]
			w.Header().Set("Content-Type", "application/json")
			if err == nil {
				_, _ = fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1"}`)
				return
			}
			err.ErrStatus.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
			w.WriteHeader(int(err.ErrStatus.Code))
			_ = json.NewEncoder(w).Encode(err.ErrStatus)
		}))
		plugin := newNamespaceAutoProvision(&Dependencies{Stores: stocked(t), Loopback: &restclient.Config{Host: s.URL}})
		a := &admission.Attributes{Operation: admission.Create, Namespace: name, Name: "p",
			Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}}
		err := plugin.(admission.MutatingInterface).Admit(t.Context(), a)
		if (err != nil) != (want != "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		s.Close()
	}
}
