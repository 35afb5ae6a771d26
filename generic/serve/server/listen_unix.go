//go:build unix

package server

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// ListenControl sets options on a socket before it is bound.
type ListenControl func(network, address string, c syscall.RawConn) error

// ReusePort allows several processes to listen on a port (port), or to bind while connections of a previous
// process linger, or in addition to a wildcard address (address).
func ReusePort(port, address bool) ListenControl {
	if !port && !address {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) {
			if address {
				set = errors.Join(set, unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
			}
			if port {
				set = errors.Join(set, unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
			}
		})
		return errors.Join(err, set)
	}
}
