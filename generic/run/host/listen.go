package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"triplane/generic/run/options"
)

// Listen opens the listener of a server, whose address has to be set. The error says what to
// do about it.
func Listen(ctx context.Context, o *options.SecureServing) (net.Listener, error) {
	l, err := o.Listen(ctx)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port %d of %s is in use by another process; stop that one, or choose another with --secure-port (0 takes a free one)", o.BindPort, o.BindAddress)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("port %d may not be used by this user; choose one above 1023 with --secure-port", o.BindPort)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("this machine has no address %s; choose another with --bind-address", o.BindAddress)
	}
	return l, err
}

// Port is the port of a TCP listener, 0 of others.
func Port(l net.Listener) int {
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// LocalHost is how clients on this machine reach a server that is bound to an address.
func LocalHost(bind net.IP) string {
	switch {
	case bind.IsUnspecified() && bind.To4() == nil:
		return "::1"
	case bind.IsUnspecified():
		return "127.0.0.1"
	}
	return bind.String()
}
