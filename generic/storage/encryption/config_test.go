package encryption

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// file returns an EncryptionConfiguration with resources.
func file(resources string) string {
	return "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n" + resources
}

// entry returns an entry of resources in YAML flow style.
func entry(resources, providers string) string {
	return fmt.Sprintf("- resources: [%s]\n  providers: [%s]\n", resources, providers)
}

const (
	secret16 = "c2VjcmV0IGlzIHNlY3VyZQ=="
	secret32 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=" // bytes 0 to 31
)

func withKeys(provider string, keys ...string) string {
	var list []string
	for i := 0; i < len(keys); i += 2 {
		list = append(list, fmt.Sprintf("{name: %q, secret: %q}", keys[i], keys[i+1]))
	}
	return fmt.Sprintf("{%s: {keys: [%s]}}", provider, strings.Join(list, ", "))
}

func TestConfigurationsAreValidated(t *testing.T) {
	good := withKeys("aescbc", "key1", secret16)
	kms := func(fields string) string { return entry("secrets", "{kms: {"+fields+"}}") }
	for _, test := range []struct{ name, config, want string }{
		{"good", file(entry(`secrets, "*.apps", widgets.example.com`, good+", {identity: {}}") + entry(`"*.*"`, withKeys("secretbox", "a", secret32))), ""},
		{"kms", file(kms("apiVersion: v2, name: a, endpoint: 'unix:///run/a.sock', timeout: 5s")), ""},
		{"nothing", file(""), "resources: Required value"},
		{"another kind", "apiVersion: v1\nkind: Secret\n", `is of apiVersion "v1" and kind "Secret"`},
		{"unknown field", file(entry("secrets", good)) + "more: true\n", `unknown field "more"`},
		{"no resources", file(entry("", good)), "resources[0].resources: Required value"},
		{"no providers", file(entry("secrets", "")), "resources[0].providers: Required value"},
		{"empty provider", file(entry("secrets", "{}")), "resources[0].providers[0]: Required value: provider does not contain"},
		{"two in one", file(entry("secrets", "{identity: {}, aesgcm: {keys: [{name: a, secret: '"+secret16+"'}]}}")), "more than one provider specified in a single element"},
		{"no keys", file(entry("secrets", "{aesgcm: {keys: []}}")), "resources[0].providers[0].aesgcm.keys: Required value"},
		{"no name", file(entry("secrets", withKeys("aescbc", "", secret16))), "aescbc.keys[0].name: Required value"},
		{"colon", file(entry("secrets", withKeys("aescbc", "a:b", secret16))), "cannot contain a colon"},
		{"same name", file(entry("secrets", withKeys("aescbc", "a", secret16, "a", secret32))), "aescbc.keys[1].name: Duplicate value"},
		{"no secret", file(entry("secrets", withKeys("aescbc", "a", ""))), "keys[0].secret: Required value"},
		{"not base64", file(entry("secrets", withKeys("aescbc", "a", "hidden!"))), `keys[0].secret: Invalid value: "REDACTED": secret must be base64 encoded`},
		{"short secret", file(entry("secrets", withKeys("aesgcm", "a", "YQ=="))), "secret is not of the expected length, got 1, expected one of [16 24 32]"},
		{"short box", file(entry("secrets", withKeys("secretbox", "a", secret16))), "got 16, expected one of [32]"},
		{"kms v1", file(kms("name: a, endpoint: 'unix:///a', cachesize: 10")), ""},
		{"kms no cache", file(kms("name: a, endpoint: 'unix:///a', cachesize: 0")), "cachesize should be a positive value, or negative to disable"},
		{"kms v3", file(kms("apiVersion: v3, name: a, endpoint: 'unix:///a'")), `apiVersion: Unsupported value: "v3"`},
		{"kms cache", file(kms("apiVersion: v2, name: a, endpoint: 'unix:///a', cachesize: 10")), "cachesize is not supported in v2"},
		{"kms name", file(kms("apiVersion: v2, endpoint: 'unix:///a'")), "kms.name: Required value"},
		{"kms names", file(kms("apiVersion: v2, name: a, endpoint: 'unix:///a'") + kms("apiVersion: v2, name: a, endpoint: 'unix:///b'")), "kms.name: Duplicate value"},
		{"kms endpoint", file(kms("apiVersion: v2, name: a, endpoint: 'tcp://1.2.3.4:5'")), `unsupported scheme "tcp" for kms provider, only unix is supported`},
		{"kms timeout", file(kms("apiVersion: v2, name: a, endpoint: 'unix:///a', timeout: -1s")), "timeout should be a positive value"},
		{"star", file(entry(`"*"`, good)), `use "*." instead of "*"`},
		{"masked", file(entry(`secrets, "*."`, good)), "overlapping resources such as"},
		{"masked by all", file(entry(`"*.*", "*.apps"`, good)), "overlapping resources such as"},
		{"masked by an entry before", file(entry(`"*.*"`, good) + entry("secrets", good)),
			`resources[1].resources[0]: Invalid value: "secrets": resource "secrets" is masked by earlier rule "*.*"`},
		{"masked by the group", file(entry(`"*.apps"`, good) + entry("secrets, deployments.apps", good)),
			`"deployments.apps" is masked by earlier rule "*.apps"`},
		{"the same wildcard", file(entry(`"*."`, good) + entry(`"*."`, good)), `resource "*." is masked by earlier rule "*."`},
		{"a wildcard after", file(entry("secrets", good) + entry("secrets", good) + entry(`"*."`, good)), ""},
		{"the former kind", "apiVersion: v1\nkind: EncryptionConfig\nresources:\n" + entry("secrets", good), ""},
		{"kms names of both versions", file(kms("name: a, endpoint: 'unix:///a'") +
			kms("apiVersion: v2, name: a, endpoint: 'unix:///b'")), "kms.name: Duplicate value"},
		{"twice", file(entry(`secrets, secrets`, good)), "Duplicate value"},
		{"case", file(entry(`Secrets`, good)), "must be in lower case"},
		{"events", file(entry(`events.events.k8s.io`, good)), `use "events"`},
		{"own records", file(entry(`apiserveripinfo`, good)), "cannot be encrypted"},
		{"part of a name", file(entry(`"sec*"`, good)), "a wildcard stands alone"},
	} {
		_, err := Parse([]byte(test.config))
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		case err != nil && (strings.Contains(err.Error(), secret16) || strings.Contains(err.Error(), "hidden")):
			t.Errorf("%s: a secret is in %v", test.name, err)
		}
	}
}

func TestFirstMatchingEntryApplies(t *testing.T) {
	provider := func(name string) string { return withKeys("secretbox", name, secret32) }
	r, err := newRules([]byte(file(
		entry("configmaps", "{identity: {}}")+
			entry("secrets, widgets.example.com", provider("named"))+
			entry(`"*.apps"`, provider("apps"))+
			entry(`"*."`, provider("core"))+
			entry(`"*.*"`, provider("all")))), false, newMetrics(""))
	if err != nil {
		t.Fatal(err)
	}
	for resource, want := range map[string]string{
		"configmaps": "", "secrets": "named:", "widgets.example.com": "named:", "gadgets.example.com": "all:",
		"deployments.apps": "apps:", "pods": "core:", "secrets.example.com": "all:", "roles.rbac.authorization.k8s.io": "all:",
	} {
		got := ""
		if k, ok := r.chainOf(schema.ParseGroupResource(resource))[0].(*keyed); ok {
			got = k.keys[0].name
		}
		if got != want {
			t.Errorf("%s is stored by %q, want %q", resource, got, want)
		}
	}
}

func TestEntriesOfOneResourceAreJoined(t *testing.T) {
	provider := func(name string) string { return withKeys("secretbox", name, secret32) }
	r, err := newRules([]byte(file(entry("secrets", provider("a"))+entry("secrets, pods", provider("b"))+
		entry(`"*.*"`, provider("c")))), false, newMetrics(""))
	if err != nil {
		t.Fatal(err)
	}
	for resource, want := range map[string]string{"secrets": "a:b:", "pods": "b:", "nodes": "c:"} {
		got := ""
		for _, k := range r.chainOf(schema.ParseGroupResource(resource)) {
			got += k.(*keyed).keys[0].name
		}
		if got != want {
			t.Errorf("%s is read with %q, want %q", resource, got, want)
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	empty, large := filepath.Join(dir, "empty"), filepath.Join(dir, "large")
	for path, data := range map[string][]byte{empty: nil, large: make([]byte, maxConfigBytes+1)} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{empty, large, filepath.Join(dir, "none")} {
		if _, err := New(Options{File: path}); err == nil {
			t.Errorf("%s was taken", path)
		}
	}
}
