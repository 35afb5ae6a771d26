package control

import (
	"slices"
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	var k Keys
	a, b, c := Key{"n", "a"}, Key{"n", "b"}, Key{"", "c"}
	k.Set(a, false)
	for _, key := range []Key{a, b, a, c} {
		k.Set(key, true)
	}
	got := k.Of("n")
	slices.SortFunc(got, func(x, y Key) int { return strings.Compare(x.Name, y.Name) })
	if !slices.Equal(got, []Key{a, b}) || !slices.Equal(k.Of(""), []Key{c}) || len(k.Of("other")) != 0 {
		t.Errorf("%v, %v", got, k.Of(""))
	}
	for _, key := range []Key{a, b, b} {
		k.Set(key, false)
	}
	if k.Has(a) || !k.Has(c) || len(k.names) != 1 {
		t.Errorf("left are %v", k.names)
	}
}
