package harness

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// Module fetches a Go module, PATH@VERSION, and returns the folder that it is in,
// which is read only.
func Module(t testing.TB, module string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir() // outside of this module, whose requirements it is not
	out, err := cmd.Output()
	var got struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &got); err != nil || jsonErr != nil || got.Dir == "" {
		t.Fatalf("go mod download %s: %v %s", module, err, got.Error)
	}
	return got.Dir
}
