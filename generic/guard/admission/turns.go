package admission

import "bytes"

// Turns are those of a plugin's webhooks or policies in one request. Who asks for it has
// another one in the second round, if anybody has changed the object after the first.
type Turns[K comparable] struct {
	attributes *Attributes
	had, again map[K]bool
	left       []byte // the object as the first round left it
}

// TurnsOf begins a round of a plugin.
func TurnsOf[K comparable](a *Attributes, plugin any) *Turns[K] {
	t, ok := a.Recall(plugin).(*Turns[K])
	if !ok {
		t = &Turns[K]{attributes: a, had: map[K]bool{}, again: map[K]bool{}}
		a.Remember(plugin, t)
	}
	if a.Reinvocation() && t.left != nil && t.changedSince() {
		t.mark()
	}
	return t
}

// Due reports whether somebody has a turn in this round.
func (t *Turns[K]) Due(who K) bool { return !t.attributes.Reinvocation() || t.again[who] }

// Took has somebody asked again if the object changes from now on.
func (t *Turns[K]) Took(who K) { t.had[who] = true }

// Changed reports that the object was changed in the present turn.
func (t *Turns[K]) Changed() {
	t.mark()
	t.attributes.Reinvoke()
}

// End ends a round.
func (t *Turns[K]) End() {
	if len(t.had) > 0 && !t.attributes.Reinvocation() {
		t.left, _ = t.snapshot()
	}
}

func (t *Turns[K]) mark() {
	for who := range t.had {
		t.again[who] = true
	}
}

func (t *Turns[K]) changedSince() bool {
	now, err := t.snapshot()
	return err != nil || !bytes.Equal(now, t.left)
}

func (t *Turns[K]) snapshot() ([]byte, error) {
	if t.attributes.Object == nil {
		return nil, nil
	}
	return Document(t.attributes.Object, t.attributes.Kind)
}
