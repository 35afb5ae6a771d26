package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	aPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p.static.k8s.io}
spec: {validations: [{expression: "true"}]}
`
	aBinding = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b.static.k8s.io}
spec: {policyName: p.static.k8s.io}
`
	aWebhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: w.static.k8s.io}
webhooks: [{name: a.example.com, clientConfig: {url: "https://example.com"}}]
`
)

// source returns the Source of a directory with files, given as pairs of name and content.
func source(t *testing.T, plugin string, files ...string) (s *Source, used **Objects) {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	used = new(*Objects)
	return &Source{
		Plugin: plugin, Dir: dir,
		Complete: func(obj runtime.Object) error {
			if o, ok := obj.(metav1.Object); ok && o.GetNamespace() != "" {
				return errors.New("it has a namespace")
			}
			return nil
		},
		Use: func(o *Objects) { *used = o },
	}, used
}

func TestReadsAllDocuments(t *testing.T) {
	indented := strings.ReplaceAll(strings.TrimSpace(aBinding), "\n", "\n  ")
	s, used := source(t, "ValidatingAdmissionPolicy",
		"a.yaml", "# none\n---\n"+aPolicy+"---\n",
		"b.json", `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"q.static.k8s.io"}}`,
		"c.yml", "apiVersion: v1\nkind: List\nitems:\n- "+indented+"\n",
		"d.yaml", "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyList\nitems:\n- metadata: {name: r.static.k8s.io}\n",
		"README.txt", "neither this", ".hidden", "nor this")
	if err := os.Mkdir(filepath.Join(s.Dir, "e.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range (*used).ValidatingPolicies {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, " "); got != "p.static.k8s.io q.static.k8s.io r.static.k8s.io" || len((*used).ValidatingBindings) != 1 {
		t.Errorf("policies %s, bindings %v", got, (*used).ValidatingBindings)
	}
}

func TestInvalidManifests(t *testing.T) {
	for _, c := range []struct{ name, plugin, text, want string }{
		{"another suffix", "ValidatingAdmissionPolicy", strings.Replace(aPolicy, "p.static.k8s.io", "p", 1), `"p" in file "FILE" must have a name ending with ".static.k8s.io"`},
		{"a name twice", "ValidatingAdmissionPolicy", aPolicy + "---" + aPolicy, `duplicate name "p.static.k8s.io" found in file "FILE" (previously seen in "FILE")`},
		{"params", "ValidatingAdmissionPolicy", strings.Replace(aPolicy, "spec: {", "spec: {paramKind: {apiVersion: v1, kind: ConfigMap}, ", 1), `ValidatingAdmissionPolicy "p.static.k8s.io": spec.paramKind is not supported for static manifests`},
		{"a param", "ValidatingAdmissionPolicy", aPolicy + "---" + strings.Replace(aBinding, "spec: {", "spec: {paramRef: {name: a}, ", 1), `binding "b.static.k8s.io": spec.paramRef is not supported for static manifests`},
		{"no policy", "ValidatingAdmissionPolicy", aBinding, `binding "b.static.k8s.io" references policy "p.static.k8s.io" which does not exist in the manifest directory`},
		{"a service", "ValidatingAdmissionWebhook", strings.Replace(aWebhook, `url: "https://example.com"`, "service: {name: a, namespace: b}", 1), `webhook "a.example.com" in "w.static.k8s.io" (file "FILE"): clientConfig.service is not supported for static manifests; use clientConfig.url instead`},
		{"an unknown field", "ValidatingAdmissionPolicy", strings.Replace(aPolicy, "spec: {", "spec: {foo: 1, ", 1), `strict decoding error: unknown field "spec.foo"`},
		{"another plugin's", "MutatingAdmissionPolicy", aPolicy, "unsupported resource type *v1.ValidatingAdmissionPolicy"},
		{"another kind", "ValidatingAdmissionPolicy", "apiVersion: v1\nkind: ConfigMap", `no kind "ConfigMap" is registered for version "v1"`},
		{"lists in lists", "ValidatingAdmissionPolicy", "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, items: []}]", "unsupported resource type *v1.List"},
		{"what the API refuses", "ValidatingAdmissionPolicy", strings.Replace(aPolicy, "{name:", "{namespace: some, name:", 1), `ValidatingAdmissionPolicy "p.static.k8s.io": it has a namespace`},
		{"no YAML", "ValidatingAdmissionPolicy", "foo: [", "did not find expected node content"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, used := source(t, c.plugin, "x.yaml", c.text)
			err := s.Start()
			want := strings.ReplaceAll(c.want, "FILE", filepath.Join(s.Dir, "x.yaml"))
			if err == nil || !strings.Contains(err.Error(), want) || *used != nil {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

func TestCheckDir(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"relative": "must be an absolute file path", file: "must be a directory", file + "x": "unable to read: stat " + file + "x: no such file or directory",
	} {
		if err := CheckDir(dir); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", dir, err, want)
		}
	}
	if err := CheckDir(filepath.Dir(file)); err != nil {
		t.Error(err)
	}
}

// Reading a directory ends, whatever it contains.
func FuzzLoad(f *testing.F) {
	for _, text := range []string{aPolicy, aBinding, aWebhook, aPolicy + "---" + aBinding, "apiVersion: v1\nkind: List\nitems: [null, {}]", "---\n---\n", "{}"} {
		f.Add(text)
	}
	d, err := decoder()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_ = decode(d, []byte(text), func(obj runtime.Object) error {
			if obj == nil {
				t.Error("no object")
			}
			return nil
		})
	})
}
