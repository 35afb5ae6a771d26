package check

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestAddresses(t *testing.T) {
	strict, loose := Addresses{}, Addresses{Loose: true}
	known := Addresses{Known: sets.New("010.1.2.3", "10.0.0.1/08")}
	for text, want := range map[string]struct{ strict, loose, known int }{
		"10.1.2.3":       {0, 0, 0},
		"2001:DB8::1":    {0, 0, 0},
		"010.1.2.3":      {1, 0, 0},
		"::ffff:1.2.3.4": {1, 0, 1},
		"1.2.3":          {1, 1, 1},
	} {
		path := field.NewPath("ip")
		if s, l, k := len(strict.IP(text, path)), len(loose.IP(text, path)), len(known.IP(text, path)); s != want.strict || l != want.loose || k != want.known {
			t.Errorf("IP %s: %d, %d and %d errors, want %+v", text, s, l, k, want)
		}
	}
	for text, want := range map[string]struct{ strict, loose, known int }{
		"10.0.0.0/8":  {0, 0, 0},
		"10.0.0.1/8":  {1, 0, 1},
		"10.0.0.1/08": {1, 0, 0},
		"10.0.0.1/33": {1, 1, 1},
	} {
		path := field.NewPath("cidr")
		if s, l, k := len(strict.CIDR(text, path)), len(loose.CIDR(text, path)), len(known.CIDR(text, path)); s != want.strict || l != want.loose || k != want.known {
			t.Errorf("CIDR %s: %d, %d and %d errors, want %+v", text, s, l, k, want)
		}
	}
}
