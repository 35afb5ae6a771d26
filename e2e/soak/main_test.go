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
	each   = flag.Duration("for", time.Second, "how long each test goes on, at least")
	report = flag.String("report", "", "file to write a report to, in Markdown")
)

// long reports whether there is time to come to numbers that mean something.
func long() bool { return *each >= 30*time.Second }

// results are the rows of the report.
var results struct {
	sync.Mutex
	rows, mended []string
}

// note adds a row, of a test that has come to its end: what must hold, and what happened.
func note(t *testing.T, must, format string, args ...any) {
	t.Helper()
	row(t, &results.rows, fmt.Sprintf(format, args...), must)
}

// mended adds a row of something that was worse once, and must not be so again.
func mended(t *testing.T, before, must, format string, args ...any) {
	t.Helper()
	row(t, &results.mended, before, fmt.Sprintf(format, args...), must)
}

func row(t *testing.T, rows *[]string, cells ...string) {
	t.Helper()
	verdict := "held"
	if t.Failed() {
		verdict = "**broken**"
	}
	cells = append(append([]string{strings.TrimPrefix(t.Name(), "Test")}, cells...), verdict)
	line := "| " + strings.Join(cells, " | ") + " |"
	t.Log(line)
	results.Lock()
	defer results.Unlock()
	*rows = append(*rows, line)
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

Written by %s on %s with %d processors. Tests that go on for as long as one likes did so for
%v each, at least. What the rows mean is in the tests of this folder.

| test | what happened | what must hold | |
| --- | --- | --- | --- |
%s

What was worse once:

| test | before | now | what must hold | |
| --- | --- | --- | --- | --- |
%s
`, "`make soak`", time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), *each,
		strings.Join(results.rows, "\n"), strings.Join(results.mended, "\n"))
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

// eventually tries something that must succeed within a time, and returns after how long it did.
func eventually(t *testing.T, within time.Duration, try func() error) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		err := try()
		took := time.Since(began)
		if err == nil {
			return took
		}
		if took > within {
			t.Fatalf("after %v: %v", took, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
