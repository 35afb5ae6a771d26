package allocator

import (
	"errors"
	"math/big"
	"net/netip"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

func TestPortsAreGivenOnce(t *testing.T) {
	p := &Ports{ports: utilnet.PortRange{Base: 30000, Size: 10}}
	bits := new(big.Int)
	got, err := p.apply(bits, []int32{30003, 0, 0}, nil)
	if err != nil || got[0] != 30003 || got[1] == got[2] || got[1] == 30003 {
		t.Fatal(got, err)
	}
	var which *PortError
	if _, err := p.apply(bits, []int32{0, 30003}, nil); !errors.As(err, &which) || which.Index != 1 || !errors.Is(err, ErrPortAllocated) {
		t.Fatal(err)
	}
	if _, err := p.apply(new(big.Int), make([]int32, 11), nil); !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	if _, err := p.apply(bits, []int32{30003}, []int32{30003}); err != nil {
		t.Fatal("a released port is not free:", err)
	}
}

func TestUsableAddresses(t *testing.T) {
	for _, c := range []struct {
		prefix, first string
		size          uint64
	}{{"10.0.0.0/16", "10.0.0.1", 65534}, {"10.0.0.0/30", "10.0.0.1", 2}, {"fd00::/112", "fd00::1", 65535}} {
		first, size := usable(netip.MustParsePrefix(c.prefix))
		if first.String() != c.first || size != c.size {
			t.Errorf("%s: %s %d, want %s %d", c.prefix, first, size, c.first, c.size)
		}
	}
	r := netip.MustParsePrefix("10.0.0.0/16")
	for ip, want := range map[string]bool{"10.0.0.0": false, "10.0.0.1": true, "10.0.255.254": true, "10.0.255.255": false, "10.1.0.1": false} {
		if got := contains(r, netip.MustParseAddr(ip)); got != want {
			t.Errorf("%s: %v", ip, got)
		}
	}
}

func TestLeakedPortsAreFreedLate(t *testing.T) {
	r := NewRepair(nil, nil, nil, Recorders{})
	used, allocated := big.NewInt(0b0101), big.NewInt(0b0011)
	for pass, want := range []int64{0b0111, 0b0111, 0b0101, 0b0111} {
		if got := r.merge(used, allocated); got.Int64() != want {
			t.Errorf("pass %d: %b, want %b", pass, got, want)
		}
	}
	r.merge(big.NewInt(0b0111), allocated) // somebody has it now
	if got := r.merge(used, allocated); got.Int64() != 0b0111 {
		t.Errorf("%b was freed at once", got)
	}
}
