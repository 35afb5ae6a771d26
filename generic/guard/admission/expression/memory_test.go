package expression

import (
	"fmt"
	"runtime"
	"testing"
)

// TestUnusedVariablesAreNotPlanned expects that variables cost little until an expression uses them.
func TestUnusedVariablesAreNotPlanned(t *testing.T) {
	const n = 1000
	c, err := NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	c.Declare()
	kept := make([]*Expression, n)
	before := allocated()
	for i := range kept {
		kept[i] = c.Variable(Scope{Authorizer: true}, fmt.Sprintf("v%d", i), "has(object.data) && size(object.data) > 1")
	}
	if each := (allocated() - before) / n; each > 10<<10 {
		t.Errorf("a variable takes %d bytes", each)
	}
	for _, x := range kept[:10] {
		if err := x.Err(); err != nil {
			t.Error(err)
		}
	}
	runtime.KeepAlive(kept)
}

func allocated() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // fits
}
