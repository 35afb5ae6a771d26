package app

import (
	"errors"
	"fmt"
	"syscall"
)

// cleanup undoes what was done, last first.
type cleanup struct{ steps []func() }

func (c *cleanup) add(f func()) { c.steps = append(c.steps, f) }

func (c *cleanup) run() {
	for i := len(c.steps) - 1; i >= 0; i-- {
		c.steps[i]()
	}
	c.steps = nil
}

// explainListen says what to do about a listener that cannot be opened.
func explainListen(err error, o *Options) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %d of %s is in use by another process; stop that one, or choose another with --secure-port (0 takes a free one)", o.SecureServing.BindPort, o.SecureServing.BindAddress)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("port %d may not be used by this user; choose one above 1023 with --secure-port", o.SecureServing.BindPort)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("this machine has no address %s; choose another with --bind-address", o.SecureServing.BindAddress)
	}
	return err
}
