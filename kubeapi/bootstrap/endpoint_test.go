package bootstrap

import (
	"net"
	"slices"
	"testing"
)

func TestCountedEndpoints(t *testing.T) {
	for _, c := range []struct {
		count      int
		have, want []string
	}{
		{1, nil, []string{"192.0.2.2"}},
		{1, []string{"192.0.2.1", "192.0.2.3"}, []string{"192.0.2.2"}},
		{2, []string{"192.0.2.1", "192.0.2.3"}, []string{"192.0.2.2", "192.0.2.3"}},
		{3, []string{"192.0.2.3", "192.0.2.1"}, []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}},
		{3, []string{"192.0.2.2"}, []string{"192.0.2.2"}},
	} {
		e := NewCountedEndpoint(nil, net.IPv4(192, 0, 2, 2), 6443, c.count)
		if got := e.counted(c.have); !slices.Equal(got, c.want) {
			t.Errorf("%d of %q: %q, want %q", c.count, c.have, got, c.want)
		}
	}
}
