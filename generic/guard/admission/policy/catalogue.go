package policy

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// stored is a policy or binding as informers return it: the same pointer as long as
// it has not changed.
type stored interface {
	comparable
	metav1.Object
}

// compiled is a policy ready to be evaluated.
type compiled[C any] interface {
	// with returns a copy that has the bindings.
	with([]*binding) C
	// names are those of the policy and of its bindings.
	names() (policy string, bindings []string)
}

// catalogue is the policies in force of one kind: those that compile and have a
// binding, ordered by name. P is the policies' type, B that of their bindings, and
// C what policies compile to. It is safe for concurrent use; reading loads a
// pointer.
type catalogue[P, B stored, C compiled[C]] struct {
	compilePolicy  func(P) (C, error)
	compileBinding func(B) (*binding, error)

	active atomic.Pointer[[]C] // nil where there are none

	mu       sync.Mutex // for Set
	policies map[P]C
	bindings map[B]*binding
}

// Set replaces all policies and bindings. Policies without a binding do nothing.
func (c *catalogue[P, B, C]) Set(policies []P, bindings []B) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ordered []P
	var bound []B
	c.policies, ordered = update(c.policies, policies, c.compilePolicy)
	c.bindings, bound = update(c.bindings, bindings, c.compileBinding)
	of := map[string][]*binding{}
	for _, o := range bound {
		b := c.bindings[o]
		of[b.policy] = append(of[b.policy], b)
	}
	var active []C
	for _, o := range ordered {
		if b := of[o.GetName()]; len(b) > 0 {
			active = append(active, c.policies[o].with(b))
		}
	}
	if len(active) == 0 {
		c.active.Store(nil)
		return
	}
	c.active.Store(&active)
}

// empty reports whether no policy is in force.
func (c *catalogue[P, B, C]) empty() bool { return c.active.Load() == nil }

// all returns the policies in force.
func (c *catalogue[P, B, C]) all() []C {
	if active := c.active.Load(); active != nil {
		return *active
	}
	return nil
}

// update compiles what is new, keeps what has not changed and drops what is gone.
// It returns what compiles, also ordered by name.
func update[O stored, C any](known map[O]C, list []O, compile func(O) (C, error)) (map[O]C, []O) {
	next := make(map[O]C, len(list))
	var good []O
	for _, o := range list {
		c, ok := known[o]
		if !ok {
			var err error
			if c, err = compile(o); err != nil {
				klog.ErrorS(err, "A policy or binding cannot be used", "name", o.GetName())
				continue
			}
		}
		next[o] = c
		good = append(good, o)
	}
	slices.SortFunc(good, func(a, b O) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return next, good
}
