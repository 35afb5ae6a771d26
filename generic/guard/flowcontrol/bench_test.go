package flowcontrol

import (
	"context"
	"testing"

	"k8s.io/utils/clock"
)

// A request that does not wait must be cheap.
func BenchmarkUncontended(b *testing.B) {
	w := newWorld(b, 600, 128, 6, 50)
	w.Controller.clock, w.work().clock = clock.RealClock{}, clock.RealClock{}
	ctx, r := context.Background(), get(worker("ann"))
	b.ReportAllocs()
	for b.Loop() {
		var t Ticket
		w.Classify(r, &t)
		if t.Enter(ctx, 0) != "" {
			b.Fatal("rejected")
		}
		t.Leave()
	}
}
