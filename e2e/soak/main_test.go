package soak

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	// each is how long each test goes on, at least.
	each   = flag.Duration("for", 2*time.Second, "how long each test goes on, at least")
	report = flag.String("report", "", "file to write a report to, in Markdown")
)

// results are the rows of the report.
var results struct {
	sync.Mutex
	rows []string
}

// note adds a row, of a test that has come to its end.
func note(t *testing.T, format string, args ...any) {
	t.Helper()
	verdict := "held"
	if t.Failed() {
		verdict = "**broken**"
	}
	row := fmt.Sprintf("| %s | %s | %s |", strings.TrimPrefix(t.Name(), "Test"), fmt.Sprintf(format, args...), verdict)
	t.Log(row)
	results.Lock()
	defer results.Unlock()
	results.rows = append(results.rows, row)
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if *report != "" {
		if err := os.WriteFile(*report, []byte(text()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func text() string {
	return fmt.Sprintf(`# What a long run found

Written by %s on %s with %d processors: %v for each row, at least. What the rows mean
is in the tests of this folder.

| test | what happened | what must hold |
| --- | --- | --- |
%s
`, "`make soak`", time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), *each, strings.Join(results.rows, "\n"))
}

// rounds calls f until the time is over, and at least a few times; it returns how often it did.
func rounds(t *testing.T, atLeast int, f func(round int)) int {
	t.Helper()
	n := 0
	for end := time.Now().Add(*each); n < atLeast || time.Now().Before(end); n++ {
		if f(n); t.Failed() {
			break
		}
	}
	return n
}
