package proxy

import (
	"context"
	"errors"
	"net"
	"testing"
)

func TestCheck(t *testing.T) {
	for address, allowed := range map[string]bool{
		"192.0.2.1": true, "10.0.0.1": true, "2001:db8::1": true, "127.0.0.1": false, "127.9.9.9": false, "::1": false, "::ffff:127.0.0.1": false,
		"0.0.0.0": false, "::": false, "169.254.169.254": false, "fe80::1": false, "224.0.0.1": false, "ff02::1": false,
		"127.1": false, "2130706433": false, "0x7f.0.0.1": false, "017700000001": false, "": false,
	} {
		if err := Check(address); (err == nil) != allowed {
			t.Errorf("%q: %v", address, err)
		}
		ip, err := Resolve(t.Context(), address)
		if (err == nil) != allowed || allowed && ip != address {
			t.Errorf("%q resolves to %q, %v", address, ip, err)
		}
	}
}

// A name leads to the address that was checked, whatever it resolves to later.
func TestPinned(t *testing.T) {
	called, want := "", errors.New("called")
	dial := Pinned(func(_ context.Context, _, address string) (net.Conn, error) {
		called = address
		return nil, want
	}, "2001:db8::1")
	if _, err := dial(t.Context(), "tcp", "localhost:10250"); !errors.Is(err, want) || called != "[2001:db8::1]:10250" {
		t.Errorf("%q, %v", called, err)
	}
}

// Ports come from the names of requests: what is no number leads nowhere.
func TestPorts(t *testing.T) {
	for port, valid := range map[string]bool{"": true, "80": true, "65535": true, "65536": false, "http": false, "-1": false, "80@127.0.0.1": false, "80\r\nX": false, "+1": false} {
		for _, host := range []string{"192.0.2.1", "2001:db8::1"} {
			if h, err := To(nil, Target{Host: host, Port: port, Path: "/x"}, nil); (err == nil) != valid || (h != nil) != valid {
				t.Errorf("%s, port %q: %v", host, port, err)
			}
		}
	}
}
