package host

import (
	"context"
	"fmt"
	"net"

	"triplane.dev/generic/run/options"
	"triplane.dev/internal/platform"
)

// Listen opens the listener of a server, whose address must be set. Errors name the flag to change.
func Listen(ctx context.Context, o *options.SecureServing) (net.Listener, error) {
	l, err := o.Listen(ctx)
	switch {
	case platform.IsAddressInUse(err):
		return nil,
			fmt.Errorf("port %d of %s is in use by another process; stop it, or choose another port with "+
				"--secure-port (0 chooses a free one)", o.BindPort, o.BindAddress)
	case platform.IsAddressDenied(err):
		return nil, fmt.Errorf("port %d is not permitted for this user; choose one above 1023 with --secure-port",
			o.BindPort)
	case platform.IsNoAddress(err):
		return nil, fmt.Errorf("this machine has no address %s; choose another with --bind-address", o.BindAddress)
	}
	return l, err
}

// Port returns the port of a TCP listener, 0 for others.
func Port(l net.Listener) int {
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// LocalHost returns the host by which local clients reach a server that is bound to an address.
func LocalHost(bind net.IP) string {
	switch {
	case bind.IsUnspecified() && bind.To4() == nil:
		return "::1"
	case bind.IsUnspecified():
		return "127.0.0.1"
	}
	return bind.String()
}
