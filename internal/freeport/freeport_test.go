package freeport

import (
	"fmt"
	"net"
	"runtime"
	"testing"
)

func TestPortsAreHeldForTheirListeners(t *testing.T) {
	// On other platforms nothing holds the ports. A server can listen on them all the same.
	held := runtime.GOOS == "linux"
	taken := map[int]bool{}
	for range 500 {
		port, err := Take()
		if err != nil {
			t.Fatal(err)
		}
		if held && taken[port] {
			t.Fatalf("port %d twice", port)
		}
		taken[port] = true
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var open []interface{ Close() error }
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	for range 2000 {
		c, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c, l)
		if port := c.LocalAddr().(*net.TCPAddr).Port; held && taken[port] {
			t.Fatalf("a client has port %d", port)
		}
		if port := l.Addr().(*net.TCPAddr).Port; held && taken[port] {
			t.Fatalf("another listener has port %d", port)
		}
	}
	for port := range taken {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, l)
	}
}
