package apiextensions

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/base/metrics"
)

// removals collects the resources whose CRDs were removed, until what others keep of them is
// dropped: of all at once, and late enough that no request for them is under way.
type removals struct {
	mu          sync.Mutex
	now, before metrics.Gone
}

func (g *removals) add(gr schema.GroupResource) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.now == nil {
		g.now = metrics.Gone{}
	}
	g.now[gr] = struct{}{}
}

// take returns the resources that were added before it was called the last time.
func (g *removals) take() metrics.Gone {
	g.mu.Lock()
	defer g.mu.Unlock()
	due := g.before
	g.before, g.now = g.now, nil
	return due
}

// dropMetrics removes the metrics of deleted resources, unless they exist again.
func (h *crHandler) dropMetrics(due metrics.Gone) {
	for gr := range due {
		if h.catalogue.find(gr) != nil {
			delete(due, gr)
		}
	}
	h.metrics.Forget(due)
}
