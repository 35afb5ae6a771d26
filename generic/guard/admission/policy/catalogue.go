package policy

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// stored is a policy or binding as listers return it: the pointer changes if and only if the object changes.
type stored interface {
	comparable
	metav1.Object
}

// compiled is a policy ready to be evaluated.
type compiled[C any] interface {
	// with returns a copy with the given bindings.
	with([]*binding) C
	// names returns the names of the policy and of its bindings.
	names() (policy string, bindings []string)
}

// catalogue is the compiled policies of one kind, ordered by name. It has only policies that compile and have a
// binding. P is the type of policies, B of bindings, C of compiled policies. It is safe for concurrent use;
// reads only load a pointer.
type catalogue[P, B stored, C compiled[C]] struct {
	compilePolicy  func(P) (C, error)
	compileBinding func(B) (*binding, error)

	active atomic.Pointer[[]C] // nil if there are none

	mu       sync.Mutex // for Set
	policies map[P]C
	bindings map[B]*binding
}

// Set replaces all policies and bindings. Policies without a binding have no effect.
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

// empty reports whether the catalogue has no policy.
func (c *catalogue[P, B, C]) empty() bool { return c.active.Load() == nil }

// all returns the policies.
func (c *catalogue[P, B, C]) all() []C {
	if active := c.active.Load(); active != nil {
		return *active
	}
	return nil
}

// revision identifies the spec of a stored object.
type revision struct {
	uid        types.UID
	generation int64
}

func revisionOf(o metav1.Object) revision { return revision{o.GetUID(), o.GetGeneration()} }

// update compiles new objects and drops deleted ones from known. It also returns the objects that compile,
// ordered by name. After a change of metadata or status alone, an object keeps what was compiled.
func update[O stored, C any](known map[O]C, list []O, compile func(O) (C, error)) (map[O]C, []O) {
	next := make(map[O]C, len(list))
	same := make(map[revision]C, len(known))
	for o, c := range known {
		same[revisionOf(o)] = c
	}
	var good []O
	for _, o := range list {
		c, ok := known[o]
		if r := revisionOf(o); !ok && r.uid != "" && r.generation > 0 {
			c, ok = same[r]
		}
		if !ok {
			var err error
			if c, err = compile(o); err != nil {
				klog.ErrorS(err, "Failed to compile policy or binding, ignoring it", "name", o.GetName())
				continue
			}
		}
		next[o] = c
		good = append(good, o)
	}
	slices.SortFunc(good, func(a, b O) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return next, good
}
