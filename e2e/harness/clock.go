package harness

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Clock is the wall clock of a process, and of what it is restarted as. The monotonic clock is left
// alone, as it is when a machine's clock is set.
//
// It takes no privileges: a process reads its clocks by a function that the kernel maps into it
// (vDSO), in whose place another one is put that asks the kernel and adds seconds.
type Clock struct {
	mu     sync.Mutex
	ahead  time.Duration
	memory *os.File // of the running process
	at     int64    // where in it the seconds are
}

// reading is a function clock_gettime(clock, *timespec) that adds the 8 bytes after it to the seconds
// of the wall clock (whose number is 0), and how the kernel calls the one in whose place it is put.
var reading = map[string]struct {
	symbol string
	code   []byte
}{
	"amd64": {"__vdso_clock_gettime", []byte{
		0xb8, 0xe4, 0, 0, 0, // mov eax, 228
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi
		0x75, 0x0a, // jnz ret
		0x48, 0x8b, 0x0d, 6, 0, 0, 0, // mov rcx, [seconds]
		0x48, 0x01, 0x0e, // add [rsi], rcx
		0xc3, // ret:
		0, 0,
	}},
	"arm64": {"__kernel_clock_gettime", []byte{
		0xe3, 0x03, 0x00, 0x2a, // mov w3, w0
		0x28, 0x0e, 0x80, 0xd2, // mov x8, 113
		0x01, 0x00, 0x00, 0xd4, // svc 0
		0xa3, 0x00, 0x00, 0x35, // cbnz w3, ret
		0xc4, 0x00, 0x00, 0x58, // ldr x4, seconds
		0x25, 0x00, 0x40, 0xf9, // ldr x5, [x1]
		0xa5, 0x00, 0x04, 0x8b, // add x5, x5, x4
		0x25, 0x00, 0x00, 0xf9, // str x5, [x1]
		0xc0, 0x03, 0x5f, 0xd6, // ret:
		0x1f, 0x20, 0x03, 0xd5,
	}},
}

// Set has the clock be ahead of the machine's by whole seconds, behind it where that is negative.
func (c *Clock) Set(t testing.TB, ahead time.Duration) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = ahead
	if c.memory == nil {
		return // it has not started
	}
	if err := c.write(); err != nil {
		t.Fatalf("setting the clock: %v", err)
	}
}

func (c *Clock) write() error {
	_, err := c.memory.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(c.ahead/time.Second)), c.at)
	return err
}

// start starts a command on the clock, before its first instruction.
func (c *Clock) start(cmd *exec.Cmd) error {
	runtime.LockOSThread() // the one that traces
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		return errors.Join(err, fmt.Errorf("it does not stop when it begins: %v", status))
	}
	return errors.Join(c.take(pid), unix.PtraceDetach(pid))
}

// take puts the clock into a process that does not run now.
func (c *Clock) take(pid int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	begin, end, err := kernelsPages(pid)
	if err != nil {
		return err
	}
	if c.memory != nil {
		_ = c.memory.Close() // of a process that has ended
	}
	if c.memory, err = os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0); err != nil {
		return err
	}
	pages := make([]byte, end-begin)
	if _, err := c.memory.ReadAt(pages, begin); err != nil {
		return err
	}
	f, err := elf.NewFile(bytes.NewReader(pages))
	if err != nil {
		return err
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return err
	}
	ours := reading[runtime.GOARCH]
	for _, s := range symbols {
		if s.Name != ours.symbol || s.Size < uint64(len(ours.code)+8) {
			continue
		}
		c.at = begin + int64(s.Value) + int64(len(ours.code))
		_, err := c.memory.WriteAt(ours.code, begin+int64(s.Value))
		return errors.Join(err, c.write())
	}
	return fmt.Errorf("the kernel maps no %q into a process", ours.symbol)
}

// kernelsPages are those that the kernel maps into a process.
func kernelsPages(pid int) (begin, end int64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			_, err := fmt.Sscanf(line, "%x-%x", &begin, &end)
			return begin, end, err
		}
	}
	return 0, 0, errors.New("the kernel maps no functions into a process")
}
