package embedded

import (
	"fmt"
	"testing"

	"triplane.dev/generic/storage"
	"triplane.dev/internal/resident"
)

func TestPagesAreReleased(t *testing.T) {
	s := startSmall(t, t.TempDir())
	const n, size = 10, 1 << 20
	for i := range n {
		if _, err := s.Backend().Create(t.Context(), fmt.Sprint("/a/", i), make([]byte, size), 0); err != nil {
			t.Fatal(err)
		}
	}
	s.etcd.Backend().ForceCommit() // so that the values are read from the file
	if r, err := s.Backend().Range(t.Context(), storage.RangeOptions{Prefix: "/a/"}); err != nil || len(r.Items) != n {
		t.Fatalf("%d values, %v", len(r.Items), err)
	}
	const enough = 1 << 40
	p := &pages{server: s.etcd, gate: s.gate, limit: enough}
	if p.check(); p.limit != enough {
		t.Error("pages below the limit were released")
	}
	before := resident.Files()
	p.limit = before - 1
	if p.check(); resident.Files() > before-n*size/2 {
		t.Errorf("%d bytes are resident after %d", resident.Files(), before)
	}
	if p.limit < mappedMax {
		t.Errorf("limit %d", p.limit)
	}
}
