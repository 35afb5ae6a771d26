// Package freeport chooses ports for servers of tests that listen on them later. A port that the kernel chooses for a
// listener that is closed at once can belong to a client or another test before the server listens.
package freeport

import (
	"net"

	"triplane.dev/internal/platform"
)

// Take returns a port of 127.0.0.1 that the kernel chose. On Linux the kernel gives it to no client and to no listener
// without a port before this process ends.
func Take() (int, error) {
	if port, err := platform.HoldPort(); err == nil {
		return port, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
