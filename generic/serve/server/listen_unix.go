//go:build unix

package server

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// ListenControl sets options on a socket before it is bound.
type ListenControl func(network, address string, c syscall.RawConn) error

// ReusePort lets several processes listen on a port, and ReuseAddress binds
// while connections of a former process linger, or beside a wildcard address.
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
