// The code of docs/testing.md and docs/apiserver.md compiles and passes in a module outside, the README's ways to get
// the binary and the module lead there, and rename-module moves a copy of the module.
package outside

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// root returns the repository's folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// goBlock finds a block of Go on a page.
var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// block returns the part of a page that an expression finds.
func block(t *testing.T, page string, e *regexp.Regexp) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	found := e.FindSubmatch(text)
	if found == nil {
		t.Fatalf("docs/%s has no %v", page, e)
	}
	return string(found[1])
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// goCommand runs the Go command in a folder.
func goCommand(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOSUMDB=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPagesInAModuleOutside(t *testing.T) {
	dir := t.TempDir()
	lines := block(t, "testing.md", regexp.MustCompile("(?s)```\n(require triplane.*?)```"))
	if strings.Count(lines, "../triplane") != 1 {
		t.Fatalf("no replace in %s", lines)
	}
	write(t, filepath.Join(dir, "go.mod"), "module example.com/outside\n\ngo 1.26.0\n\n"+
		strings.Replace(lines, "../triplane", root(t), 1))
	sums, err := os.ReadFile(filepath.Join(root(t), "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.sum"), string(sums))
	write(t, filepath.Join(dir, "my_test.go"), block(t, "testing.md", goBlock))
	write(t, filepath.Join(dir, "cmd", "forester", "main.go"), block(t, "apiserver.md", goBlock))

	goCommand(t, dir, "build", "-o", filepath.Join(dir, "forester"), "./cmd/forester")
	if out, err := exec.Command(filepath.Join(dir, "forester"), "--help").CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "--standalone") {
		t.Errorf("forester --help: %v\n%s", err, out)
	}
	goCommand(t, dir, "test", "-vet=off", ".")
}

// way returns the commands of the README's section "Three ways to get it" for one of them.
func way(t *testing.T, name string) []string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)\*\*` + name + `\*\*.*?:\n\n((?:    .*?\n)+)`).FindSubmatch(readme)
	if found == nil {
		t.Fatalf("the README has no way to get %s", name)
	}
	commands := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(found[1]), "    ", "")), "\n")
	if len(commands) > 3 {
		t.Errorf("%s takes %d commands", name, len(commands))
	}
	return commands
}

// besideClone returns an empty directory beside a copy of the repository.
func besideClone(t *testing.T) string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root(t)
	files, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for file := range strings.SplitSeq(strings.TrimSuffix(string(files), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root(t), file))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "triplane", file), string(content))
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	return empty
}

// shell returns a command of the README.
func shell(t *testing.T, dir, command string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "exec "+command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -vet=off", "GOSUMDB=off", "GOWORK=off")
	return cmd
}

func TestTheBinary(t *testing.T) {
	dir, commands := besideClone(t), way(t, "The binary")
	last := len(commands) - 1
	for _, command := range commands[:last] {
		if out, err := shell(t, dir, command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	server := shell(t, dir, commands[last]+" --secure-port=0") // 6443 may be in use
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ready := false
	for deadline := time.Now().Add(30 * time.Second); !ready &&
		time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		ready = shell(t, dir, commands[last]+" status --ready").Run() == nil
	}
	if err := errors.Join(server.Process.Signal(syscall.SIGTERM), server.Wait()); !ready || err != nil {
		t.Errorf("it is ready: %v, and ends with %v", ready, err)
	}
}

func TestTheModule(t *testing.T) {
	dir := besideClone(t)
	write(t, filepath.Join(dir, "my_test.go"), block(t, "testing.md", goBlock))
	for _, command := range way(t, "A module") {
		if out, err := shell(t, dir, command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}

func TestRenameModule(t *testing.T) {
	dir := t.TempDir()
	for file, content := range map[string]string{
		"go.mod": "module triplane.dev\n", "a.go": "package a\n\nimport _ \"triplane.dev/b\"\n",
		"b/b.go":   "package b\n",
		"Makefile": "STAMP := -X triplane.dev/generic/serve/server.commit=\n", "other.txt": "triplaneXdev\n",
	} {
		write(t, filepath.Join(dir, file), content)
	}
	for _, args := range [][]string{{"git", "init", "-q"}, {"git", "add", "."},
		{"make", "-f", filepath.Join(root(t), "Makefile"), "rename-module", "TO=example.com/three/plane"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	for file, want := range map[string]string{
		"go.mod": "module example.com/three/plane\n", "a.go": "package a\n\nimport _ \"example.com/three/plane/b\"\n",
		"Makefile": "STAMP := -X example.com/three/plane/generic/serve/server.commit=\n", "other.txt": "triplaneXdev\n",
	} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", file, got, err, want)
		}
	}
	goCommand(t, dir, "vet", "./...")
}
