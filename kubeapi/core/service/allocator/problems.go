package allocator

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Recorders write Events about what a repair finds, in the names of kube-apiserver's two
// repair loops. They are called for the first problem; nil writes none.
type Recorders struct{ IPs, Ports func() events.EventRecorder }

// Names that recorders are to have.
const (
	IPRepair   = "ipallocator-repair-controller"
	PortRepair = "portallocator-repair-controller"
)

// problem is what a repair found about an object.
type problem struct {
	object               runtime.Object
	reason, action, note string
	args                 []any
}

// record writes problems as warnings.
func record(open func() events.EventRecorder, problems []problem) {
	if open == nil || len(problems) == 0 {
		return
	}
	r := open()
	if r == nil {
		return
	}
	for _, p := range problems {
		r.Eventf(p.object, nil, corev1.EventTypeWarning, p.reason, p.action, p.note, p.args...)
	}
}
