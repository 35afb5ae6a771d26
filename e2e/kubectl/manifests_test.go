// Files that the server applies itself: --manifests, with kubectl to see the result.

package kubectl

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triplane.dev/e2e/harness"
)

// writeManifest writes a file of the directory.
func writeManifest(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func configMap(name, value string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {value: %q}\n", name, value)
}

// awaitOutput waits until kubectl prints a text.
func awaitOutput(t *testing.T, s *harness.Server, wanted string, args ...string) {
	t.Helper()
	harness.Eventually(t, func() error {
		out, err := s.TryKubectl(t, "", args...)
		if out = strings.TrimSpace(out); out != wanted {
			return fmt.Errorf("kubectl %s: %q, want %q, %v", strings.Join(args, " "), out, wanted, err)
		}
		return nil
	})
}

// manifestStatus is the status at /debug/manifests.
type manifestStatus struct {
	Applied  int
	Problems []struct {
		File, Object, Message string
		Document              int
	}
}

func statusOf(t *testing.T, s *harness.Server) (status manifestStatus) {
	t.Helper()
	if err := json.Unmarshal([]byte(s.Kubectl(t, "get", "--raw", "/debug/manifests")), &status); err != nil {
		t.Fatal(err)
	}
	return status
}

// The files have a custom resource before its definition, and an object before its namespace.
func TestManifests(t *testing.T) {
	dir := t.TempDir()
	crd, err := os.ReadFile("../testdata/widgets-crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	widget, err := os.ReadFile("../testdata/widget.yaml")
	if err != nil {
		t.Fatal(err)
	}
	writeManifest(t, dir, "a-widget.yaml", string(widget))
	writeManifest(t, dir, "b/crd.yml", string(crd))
	writeManifest(t, dir, "b/namespace.json", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`)
	writeManifest(t, dir, "maps.yaml", configMap("one", "1")+configMap("two", "2"))
	writeManifest(t, dir, ".hidden.yaml", configMap("hidden", "1"))
	writeManifest(t, dir, "notes.txt", "not a manifest")
	s := harness.Start(t, "--manifests", dir)
	awaitOutput(t, s, "one", "get", "configmap/one", "-o", "jsonpath={.metadata.name}")
	harness.Eventually(t, func() error {
		if status := statusOf(t, s); status.Applied != 5 || len(status.Problems) > 0 {
			return fmt.Errorf("%+v", status)
		}
		return nil
	})
	if _, err := s.TryKubectl(t, "", "get", "configmap/hidden"); err == nil {
		t.Error("a hidden file is applied")
	}
	owner := s.Kubectl(t, "get", "configmap/one", "--show-managed-fields", "-o", "jsonpath={.metadata.managedFields[*].manager} {.metadata.managedFields[*].operation} {.metadata.annotations.triplane\\.dev/manifest}")
	if owner != "triplane-manifests Apply maps.yaml" {
		t.Errorf("the object is owned by %q", owner)
	}

	// A change is applied. An object that is removed from the file is deleted, unless the file cannot be parsed.
	writeManifest(t, dir, "maps.yaml", configMap("one", "changed")+"---\nkind: [")
	harness.Eventually(t, func() error {
		status := statusOf(t, s)
		if len(status.Problems) != 1 || status.Problems[0].File != "maps.yaml" || status.Problems[0].Document != 2 {
			return fmt.Errorf("%+v", status)
		}
		return nil
	})
	s.Kubectl(t, "get", "configmap/two")
	if !strings.Contains(s.Output(), `file="maps.yaml" document=2`) {
		t.Error("the log does not name the document")
	}
	// Nor is an object that is missing only while the file is written.
	writeManifest(t, dir, "maps.yaml", "")
	time.Sleep(100 * time.Millisecond)
	writeManifest(t, dir, "maps.yaml", configMap("one", "changed"))
	awaitOutput(t, s, "changed", "get", "configmap/one", "-o", "jsonpath={.data.value}")
	s.Kubectl(t, "wait", "--for=delete", "configmap/two", "--timeout=30s")
	metrics := s.Kubectl(t, "get", "--raw", "/metrics")
	for _, line := range []string{"triplane_manifests_applied_objects 4", "triplane_manifests_pruned_objects_total 1",
		"triplane_manifests_failed_objects 0"} {
		if !strings.Contains(metrics, line) {
			t.Errorf("the metrics do not contain %q", line)
		}
	}

	// Removals while the server does not run are noticed. An object that was replaced by a user is kept.
	writeManifest(t, dir, "more.yaml", configMap("replaced", "1")+configMap("removed", "1"))
	awaitOutput(t, s, "1", "get", "configmap/removed", "-o", "jsonpath={.data.value}")
	s.Kubectl(t, "annotate", "configmap/replaced", "triplane.dev/manifest-")
	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "more.yaml")); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	s.Kubectl(t, "wait", "--for=delete", "configmap/removed", "--timeout=30s")
	s.Kubectl(t, "get", "configmap/replaced")

	// A directory that cannot be read deletes nothing.
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, func() error {
		if status := statusOf(t, s); len(status.Problems) != 1 {
			return fmt.Errorf("%+v", status)
		}
		return nil
	})
	s.Kubectl(t, "get", "configmap/one")
	if err := os.Rename(dir+"-moved", dir); err != nil {
		t.Fatal(err)
	}
}
