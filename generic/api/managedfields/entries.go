package managedfields

import (
	"bytes"
	"cmp"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// knownSet is a decoded set of fields, and its encoding. Both are immutable.
type knownSet struct {
	fields  *fieldpath.Set
	encoded []byte
}

const (
	// maxSets bounds each of the two generations of a cache.
	maxSets = 128
	// maxSetBytes is the size of the largest encoding that is worth keeping: a
	// kind's cache never holds more than 2 × maxSets of it, with the decoded form
	// some ten times as much, and in practice a few KB.
	maxSetBytes = 8 << 10
)

// setCache remembers decoded sets by their encoding. When the young generation
// is full, the old one is forgotten and the young one grows old.
type setCache struct {
	mu         sync.Mutex
	young, old map[string]*knownSet
	// recent are the latest results of encode: objects that are written one after the other have the same fields.
	recent [4]*knownSet
}

func (c *setCache) get(encoded []byte) *knownSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.young[string(encoded)]; s != nil {
		return s
	}
	s := c.old[string(encoded)]
	if s != nil {
		c.put(s)
	}
	return s
}

// put is called with the lock held.
func (c *setCache) put(s *knownSet) {
	if len(s.encoded) > maxSetBytes {
		return
	}
	if c.young == nil || len(c.young) >= maxSets {
		c.young, c.old = make(map[string]*knownSet), c.young
	}
	c.young[string(s.encoded)] = s
}

func (c *setCache) add(s *knownSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(s)
}

// decode returns a set in the form that the library would write it; it fails on
// any other, and where the schema has changed since, so that fields that were
// owned one by one are now owned as a whole or the other way round.
func (c *setCache) decode(r *root, encoded []byte) (*knownSet, bool) {
	if s := c.get(encoded); s != nil {
		return s, true
	}
	var set fieldpath.Set
	if err := set.FromJSON(bytes.NewReader(encoded)); err != nil || set.Empty() {
		return nil, false
	}
	if again, err := set.ToJSON(); err != nil || !bytes.Equal(again, encoded) {
		return nil, false
	}
	// Nobody owns these unless a client says so; the walk does not look at them.
	if !set.Intersection(stripped).Empty() {
		return nil, false
	}
	if reconciled, err := typed.ReconcileFieldSetWithSchema(&set, r.empty); err != nil || reconciled != nil {
		return nil, false
	}
	s := &knownSet{fields: &set, encoded: bytes.Clone(encoded)}
	c.add(s)
	return s, true
}

// encode returns a set that was computed by the present schema.
func (c *setCache) encode(set *fieldpath.Set) (*knownSet, bool) {
	c.mu.Lock()
	recent := c.recent
	c.mu.Unlock()
	for _, s := range recent {
		if s != nil && s.fields.Equals(set) {
			return s, true
		}
	}
	encoded, err := set.ToJSON()
	if err != nil {
		return nil, false
	}
	s := c.get(encoded)
	if s == nil {
		s = &knownSet{fields: set, encoded: encoded}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(s)
	if len(encoded) <= maxSetBytes {
		copy(c.recent[1:], recent[:])
		c.recent[0] = s
	}
	return s, true
}

// compareEntries orders entries: appliers first, then by time, in seconds.
func compareEntries(a, b metav1.ManagedFieldsEntry) int {
	return cmp.Or(
		cmp.Compare(a.Operation, b.Operation),
		cmp.Compare(seconds(a.Time), seconds(b.Time)),
		cmp.Compare(a.Manager, b.Manager),
		cmp.Compare(a.APIVersion, b.APIVersion),
		cmp.Compare(a.Subresource, b.Subresource),
	)
}

func seconds(t *metav1.Time) int64 {
	if t == nil {
		return 0
	}
	return t.Unix()
}
