// Tests in other languages: the examples of the packages in clients/ run with "triplane test", each if its language is
// installed.

package clients

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"triplane.dev/e2e/harness"
)

// languages is the folder of the packages.
const languages = "../../clients"

// runExample runs a program in the folder of a package, and logs what the examples measured.
func runExample(t *testing.T, folder string, env []string, program string, args ...string) {
	t.Helper()
	built, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = filepath.Join(languages, folder)
	cmd.Env = append(append(os.Environ(), "TRIPLANE_BINARY="+built.Triplane), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	measured := regexp.MustCompile(`measured: .*`).Find(out)
	if measured == nil {
		t.Errorf("the examples measured nothing:\n%s", out)
	}
	t.Logf("%s: %s", folder, measured)
}

// installed returns the path of a program; it skips the test if there is none.
func installed(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed: %v", program, err)
	}
	return path
}

func TestExamplesOfNode(t *testing.T) {
	node := installed(t, "node")
	out, err := exec.CommandContext(t.Context(), node, "--version").Output()
	if err != nil || !regexp.MustCompile(`^v(2\d|[3-9]\d)\.`).Match(out) {
		t.Skipf("node is %q, the package needs 20 or later: %v", out, err)
	}
	runExample(t, "npm", nil, node, "--test")
}

func TestExamplesOfPython(t *testing.T) {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		python, err := exec.LookPath(name)
		if err != nil || exec.CommandContext(t.Context(), python, "-c", "import pytest").Run() != nil {
			continue
		}
		runExample(t, "python", []string{"PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1"}, python, "-m", "pytest",
			"-p", "triplane_test.plugin", "-p", "no:cacheprovider", "-s", "tests")
		return
	}
	t.Skip("python3 with pytest is not installed")
}

// jars are what JUnit 5 with its console consists of, in Debian's package junit5.
var jars = []string{"junit-jupiter-api", "junit-jupiter-engine", "junit-platform-commons", "junit-platform-engine",
	"junit-platform-launcher", "junit-platform-console", "junit-platform-reporting", "opentest4j", "apiguardian-api",
	"picocli", "open-test-reporting-schema"}

func TestExamplesOfJava(t *testing.T) {
	javac, java := installed(t, "javac"), installed(t, "java")
	classes := t.TempDir()
	var path []string
	for _, jar := range jars {
		file := filepath.Join("/usr/share/java", jar+".jar")
		if _, err := os.Stat(file); err == nil {
			path = append(path, file)
		}
	}
	if len(path) < len(jars)-1 { // older releases have no open-test-reporting-schema
		t.Skip("JUnit 5 is not installed in /usr/share/java (Debian: junit5)")
	}
	classpath := strings.Join(path, string(os.PathListSeparator))
	source, err := filepath.Glob(filepath.Join(languages, "java", "*", "*.java"))
	if err != nil || len(source) == 0 {
		t.Fatal(source, err)
	}
	out, err := exec.CommandContext(t.Context(), javac,
		append([]string{"-d", classes, "-cp", classpath}, source...)...).
		CombinedOutput()
	if err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	runExample(t, "java", nil, java, "-cp", classpath+string(os.PathListSeparator)+classes,
		"org.junit.platform.console.ConsoleLauncher", "--scan-classpath", classes)
}
