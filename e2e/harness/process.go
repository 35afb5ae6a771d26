package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"triplane.dev/internal/freeport"
)

// Process is a program that runs until it is stopped.
type Process struct {
	cmd    *exec.Cmd
	output lockedBuffer
	exited chan struct{}
	err    error
}

// startProcess runs a program. The test's end kills it; a failed test prints
// what it wrote.
func startProcess(t testing.TB, program string, args ...string) *Process {
	t.Helper()
	return startCommand(t, exec.Command(program, args...))
}

// startCommand is startProcess of a command that was prepared.
func startCommand(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	return startBy(t, cmd, (*exec.Cmd).Start)
}

// startBy is startCommand with a way to start it.
func startBy(t testing.TB, cmd *exec.Cmd, start func(*exec.Cmd) error) *Process {
	t.Helper()
	p := &Process{cmd: cmd, exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if err := start(p.cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s printed:\n%s", cmd.Path, tail(p.output.String(), 8000))
		}
	})
	return p
}

// PID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Output is all that the process printed so far.
func (p *Process) Output() string { return p.output.String() }

// Kill ends the process as a power failure would.
func (p *Process) Kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // or it has ended already
	<-p.exited
}

// Pause has the process do nothing.
func (p *Process) Pause(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// Resume has it go on.
func (p *Process) Resume(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// Terminate asks the process to end and returns how it did.
func (p *Process) Terminate(t testing.TB) error {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // or it has ended already
	return p.Wait(t, 30*time.Second)
}

// Wait returns how the process ended.
func (p *Process) Wait(t testing.TB, timeout time.Duration) error {
	t.Helper()
	select {
	case <-p.exited:
		return p.err
	case <-time.After(timeout):
		t.Fatalf("the process did not end within %v", timeout)
		return nil
	}
}

// Ended reports whether the process has ended, or does so within a time.
func (p *Process) Ended(within time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(within):
		return false
	}
}

// ExitCode of a process that has ended, -1 where a signal ended it.
func (p *Process) ExitCode() int {
	<-p.exited
	var exit *exec.ExitError
	if errors.As(p.err, &exit) {
		return exit.ExitCode()
	}
	return p.cmd.ProcessState.ExitCode()
}

// ResidentBytes is the memory that the process has in RAM.
func (p *Process) ResidentBytes() (int64, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/statm")
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(string(bytes.Fields(b)[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// AnonymousBytes is the memory of the process without the files that are mapped, as the database is;
// 0 where it has ended.
func (p *Process) AnonymousBytes() int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	_, after, _ := strings.Cut(string(status), "RssAnon:")
	var kilobytes int64
	_, _ = fmt.Sscan(after, &kilobytes)
	return kilobytes << 10
}

// CPU is how long the process has computed.
func (p *Process) CPU(t testing.TB) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var user, system int64 // in hundredths of a second
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// Descriptors is how many the process has open.
func (p *Process) Descriptors(t testing.TB) int {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// FreePort returns a loopback port for a server of the test.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := freeport.Take()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

var _ io.Writer = (*lockedBuffer)(nil)

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func tail(s string, n int) string {
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}
