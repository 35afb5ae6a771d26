package control

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
)

// Acquisition records that a lease was acquired: the elector records an event for it before the work starts.
type Acquisition struct{ atomic.Bool }

// Eventf implements resourcelock.EventRecorder.
func (a *Acquisition) Eventf(runtime.Object, string, string, string, ...any) { a.Store(true) }
