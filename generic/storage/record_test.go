package storage

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"testing"
)

// large is a value that becomes much smaller, as a CRD's does.
func large() []byte {
	var b bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&b, `"field%d":{"type":"string","description":"Field %d is a part of the resource."},`, i, i)
	}
	return b.Bytes()
}

func TestLargeValuesAreCompressed(t *testing.T) {
	value := large()
	plain := NewRecord("/a", value, 7)
	if _, err := plain.Labels(func(*Record) (Set, error) { return NewSet(Set{{"a", "b"}}), nil }); err != nil {
		t.Fatal(err)
	}
	plain.SeedForm(1, nil, []byte("form"))
	r := plain.Compressed()
	if r == plain || len(r.value) > len(value)/4 {
		t.Fatalf("%d bytes of %d", len(r.value), len(value))
	}
	if r.Compressed() != r {
		t.Error("compressed twice")
	}
	for name, r := range map[string]*Record{"plain": plain, "compressed": r, "later": r.At(7)} {
		if !bytes.Equal(r.Value(), value) || r.Size() != len(value) || r.Key != "/a" || r.Revision != 7 {
			t.Errorf("%s: %d bytes of size %d at %s, %d", name, len(r.Value()), r.Size(), r.Key, r.Revision)
		}
	}
	labels, err := r.Labels(func(*Record) (Set, error) { return nil, fmt.Errorf("read again") })
	if err != nil || labels.Get("a") != "b" {
		t.Errorf("labels %v, %v", labels, err)
	}
	if got := r.KeptForm(1); string(got) != "form" {
		t.Errorf("form %q", got)
	}
	if later := r.At(8); later.KeptForm(1) != nil || later.Revision != 8 {
		t.Error("a later revision has the forms of the former")
	}
}

func TestOtherValuesAreNotCompressed(t *testing.T) {
	random := make([]byte, 2*compressLeast)
	_, _ = rand.Read(random)
	for name, value := range map[string][]byte{"none": nil, "small": large()[:compressLeast-1], "random": random} {
		if r := NewRecord("/a", value, 7); r.Compressed() != r {
			t.Error(name)
		}
	}
}

// BenchmarkCompressed is what a large record costs a cache, and each reading of its value.
func BenchmarkCompressed(b *testing.B) {
	r := NewRecord("/a", large(), 7)
	b.Run("compress", func(b *testing.B) {
		b.SetBytes(int64(r.Size()))
		for b.Loop() {
			r.Compressed()
		}
	})
	c := r.Compressed()
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(r.Size()))
		for b.Loop() {
			c.Value()
		}
	})
}
