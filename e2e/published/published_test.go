package published

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"triplane.dev/e2e/harness"
)

var all = flag.Bool("all", false, "install the CRDs of all projects")

// TestPublished uses the CRDs of projects as their users do.
func TestPublished(t *testing.T) {
	s := harness.Start(t)
	for _, p := range projects {
		if p.few || *all {
			t.Run(strings.ReplaceAll(p.module, "/", "_"), func(t *testing.T) { p.use(t, s) })
		}
	}
}

func (p *project) use(t *testing.T, s *harness.Server) {
	root := harness.Module(t, p.module+"@"+p.version)
	crds := documents(t, root, p.crds, func(m *manifest) bool { return m.Kind == "CustomResourceDefinition" })
	if len(crds) == 0 {
		t.Fatalf("%s has no CRDs in %s", p.module, p.crds)
	}
	file := write(t, crds)
	s.Kubectl(t, "create", "-f", file)
	waitEstablished(t, s, file)
	s.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", file)
	var names []string
	groups := map[string]bool{}
	for _, c := range crds {
		names = append(names, c.Name)
		_, group, _ := strings.Cut(c.Name, ".")
		groups[group] = true
	}
	s.Kubectl(t, "get", "-A", strings.Join(names, ","))
	for _, name := range names[:min(len(names), 3)] {
		if out := s.Kubectl(t, "explain", name); !strings.Contains(out, "KIND:") {
			t.Errorf("explain %s: %s", name, out)
		}
	}
	if p.examplesIn != "" {
		if !*all {
			return
		}
		root = harness.Module(t, p.examplesIn)
	}
	p.useExamples(t, s, root, groups)
}

// waitEstablished waits for CRDs. kubectl gives up at once on one whose conditions are
// null still, as they are until the server has settled its names.
func waitEstablished(t *testing.T, s *harness.Server, file string) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; {
		out, err := s.TryKubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "-f", file)
		if err == nil {
			return
		}
		if time.Now().After(deadline) || !strings.Contains(out, "accessor error") {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

func (p *project) useExamples(t *testing.T, s *harness.Server, root string, groups map[string]bool) {
	examples := documents(t, root, p.examples, func(m *manifest) bool {
		group, _, _ := strings.Cut(m.APIVersion, "/")
		return groups[group] && m.Name != "" // what has no name cannot be applied
	})
	if len(examples) == 0 {
		if len(p.examples) > 0 {
			t.Fatalf("%s has no examples in %s", p.module, p.examples)
		}
		return
	}
	namespaces := map[string]bool{"default": true}
	for _, e := range examples {
		if e.Namespace != "" && !namespaces[e.Namespace] {
			namespaces[e.Namespace] = true
			s.KubectlIn(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+e.Namespace+"}\n", "apply", "-f", "-")
		}
	}
	file := write(t, examples)
	s.Kubectl(t, "create", "-f", file)
	s.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", file)
	s.Kubectl(t, "label", "-f", file, "published=yes")
	s.Kubectl(t, "get", "-f", file)
	s.Kubectl(t, "delete", "-f", file, "--wait=false")
}

// manifest is a YAML document as it was published.
type manifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	text              string
}

var separator = regexp.MustCompile(`(?m)^---.*$`)

// documents reads the documents in files below root that match a pattern and are
// wanted, the first of each name.
func documents(t *testing.T, root string, patterns []string, wanted func(*manifest) bool) []*manifest {
	t.Helper()
	var out []*manifest
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range separator.Split(string(b), -1) {
				m := &manifest{text: text}
				if err := yaml.Unmarshal([]byte(text), m); err != nil || !wanted(m) ||
					slices.ContainsFunc(out, m.sameObject) {
					continue
				}
				out = append(out, m)
			}
		}
	}
	return out
}

// sameObject reports whether both are one object, maybe of two versions.
func (m *manifest) sameObject(o *manifest) bool {
	namespace := func(m *manifest) string { return cmp.Or(m.Namespace, metav1.NamespaceDefault) }
	return m.GroupVersionKind().GroupKind() == o.GroupVersionKind().GroupKind() && namespace(m) == namespace(o) &&
		m.Name == o.Name
}

// write puts documents into a file for kubectl.
func write(t *testing.T, docs []*manifest) string {
	t.Helper()
	var b strings.Builder
	for _, d := range docs {
		b.WriteString("---\n" + strings.TrimPrefix(d.text, "\n") + "\n")
	}
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
