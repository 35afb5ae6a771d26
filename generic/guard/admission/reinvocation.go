package admission

import "bytes"

// Reinvocation decides which webhooks or policies of a plugin run in the second round of a
// request. Those passed to Called run again if the object has changed after their call. K
// identifies a webhook or policy.
type Reinvocation[K comparable] struct {
	attributes      *Attributes
	called, pending map[K]bool
	last            []byte // the object at the end of the first round
}

// ReinvocationOf starts a round of a plugin, and returns the same Reinvocation in both rounds
// of a request.
func ReinvocationOf[K comparable](a *Attributes, plugin any) *Reinvocation[K] {
	r, ok := a.Recall(plugin).(*Reinvocation[K])
	if !ok {
		r = &Reinvocation[K]{attributes: a, called: map[K]bool{}, pending: map[K]bool{}}
		a.Remember(plugin, r)
	}
	if a.Reinvocation() && r.last != nil && r.objectChanged() {
		r.mark()
	}
	return r
}

// Due reports whether to call id in this round.
func (r *Reinvocation[K]) Due(id K) bool { return !r.attributes.Reinvocation() || r.pending[id] }

// Called records a call of id, whose reinvocation policy is IfNeeded.
func (r *Reinvocation[K]) Called(id K) { r.called[id] = true }

// Changed schedules a second round for all that were called before, because the current call
// has changed the object.
func (r *Reinvocation[K]) Changed() {
	r.mark()
	r.attributes.Reinvoke()
}

// End ends a round.
func (r *Reinvocation[K]) End() {
	if len(r.called) > 0 && !r.attributes.Reinvocation() {
		r.last, _ = r.snapshot()
	}
}

func (r *Reinvocation[K]) mark() {
	for id := range r.called {
		r.pending[id] = true
	}
}

func (r *Reinvocation[K]) objectChanged() bool {
	now, err := r.snapshot()
	return err != nil || !bytes.Equal(now, r.last)
}

func (r *Reinvocation[K]) snapshot() ([]byte, error) {
	if r.attributes.Object == nil {
		return nil, nil
	}
	return Document(r.attributes.Object, r.attributes.Kind)
}
