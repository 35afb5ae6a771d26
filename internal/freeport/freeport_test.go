package freeport

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Without reservations, about four of the ports would be the same.
func TestProcessesTakeDifferentPorts(t *testing.T) {
	const each = 200
	if os.Getenv("FREEPORT_TAKE") != "" {
		for range each {
			port, err := Take()
			fmt.Println("port", port, err)
		}
		return
	}
	taken := map[string]bool{}
	for range each {
		port, err := Take()
		if err != nil {
			t.Fatal(err)
		}
		taken[fmt.Sprint("port ", port, " <nil>")] = true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "FREEPORT_TAKE=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "port ") {
			taken[strings.TrimSpace(line)] = true
		}
	}
	if len(taken) != 2*each {
		t.Errorf("%d different ports", len(taken))
	}
}

func TestReserve(t *testing.T) {
	port, err := Take()
	if err != nil {
		t.Fatal(err)
	}
	if reserve(port) {
		t.Error("a port is reserved twice")
	}
	l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	used := l.Addr().(*net.TCPAddr).Port
	reserved.Lock()
	_ = reserved.sockets[len(reserved.sockets)-1].Close()
	reserved.Unlock()
	if reserve(used) {
		t.Error("a port on which a server listens is reserved")
	}
}
