package authentication

import (
	"path/filepath"
	"testing"
	"time"
)

func TestUnionPoolFollowsItsBundles(t *testing.T) {
	file := func(name string) string { return filepath.Join(t.TempDir(), name) }
	one, two := file("one"), file("two")
	first, second, third := newAuthority(t), newAuthority(t), newAuthority(t)
	first.write(t, one)
	second.write(t, two)
	a, err := NewCABundle(one)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewCABundle(two)
	if err != nil {
		t.Fatal(err)
	}
	pool := UnionPool(a, b)
	before := pool()
	if before != pool() {
		t.Error("a new pool although nothing changed")
	}
	want := UnionPool(a, b)()
	if !before.Equal(want) || !before.Equal(before) || before.Equal(a.Pool()) || before.Equal(b.Pool()) {
		t.Error("the pool does not hold the authorities of both")
	}
	third.write(t, two)
	b.modTime = time.Time{} // whatever the file system's clock can distinguish
	b.checked.Store(0)
	if pool().Equal(before) {
		t.Error("the pool still has the old authorities")
	}
}
