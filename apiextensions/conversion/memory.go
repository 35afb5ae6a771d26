package conversion

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Memory remembers for a while what converters made of objects. A write meets an object
// several times, as what is stored, what is validated and what is answered, which differ in
// nothing but what the server keeps of it in its metadata: a webhook is asked once.
type Memory struct {
	now func() time.Time

	mu         sync.Mutex
	converters uint64
	bytes      int
	known      map[question]answer
	order      []asked // the oldest first
}

const (
	rememberedFor   = 10 * time.Second // as long as a slow webhook makes a write last
	rememberedBytes = 4 << 20          // of all converters
	manyObjects     = 8                // of a list, which is not asked for again in the same request
)

// question is the hash of a converter, an object and the version wanted.
type question [sha256.Size]byte

type answer struct {
	object []byte
	at     time.Time
}

// asked is the time of the response to a question, which may have had a later response.
type asked struct {
	question question
	at       time.Time
}

// NewMemory makes a memory for any number of converters.
func NewMemory() *Memory { return &Memory{now: time.Now, known: map[question]answer{}} }

// Of returns the converter, with what it said lately remembered.
func (m *Memory) Of(c Converter) Converter {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.converters++
	return &remembering{converter: c, memory: m, id: m.converters}
}

type remembering struct {
	converter Converter
	memory    *Memory
	id        uint64
}

// Convert implements Converter.
func (r *remembering) Convert(ctx context.Context, objs []*unstructured.Unstructured,
	to schema.GroupVersion) ([]*unstructured.Unstructured, error) {
	if len(objs) > manyObjects {
		return r.converter.Convert(ctx, objs, to)
	}
	out := append([]*unstructured.Unstructured(nil), objs...)
	var ask []*unstructured.Unstructured
	var places []int
	questions := make([]question, len(objs))
	for i, o := range objs {
		if o.GetAPIVersion() == to.String() {
			continue
		}
		var err error
		if questions[i], err = r.question(o, to); err != nil {
			return nil, err
		}
		if out[i] = r.memory.recall(questions[i], o); out[i] == nil {
			ask, places = append(ask, o), append(places, i)
		}
	}
	if len(ask) == 0 {
		return out, nil
	}
	converted, err := r.converter.Convert(ctx, ask, to)
	if err != nil {
		return nil, err
	}
	for n, i := range places {
		out[i] = converted[n]
		r.memory.remember(questions[i], converted[n])
	}
	return out, nil
}

// question leaves out of an object what changes while it is written, and no webhook may change.
func (r *remembering) question(o *unstructured.Unstructured, to schema.GroupVersion) (question, error) {
	content := maps.Clone(o.Object)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		for _, kept := range []string{"managedFields", "resourceVersion", "generation"} {
			delete(metadata, kept)
		}
		content["metadata"] = metadata
	}
	text, err := (&unstructured.Unstructured{Object: content}).MarshalJSON()
	if err != nil {
		return question{}, err
	}
	h := sha256.New()
	h.Write(append(binary.BigEndian.AppendUint64(nil, r.id), to.String()...))
	h.Write(append([]byte{0}, text...))
	return question(h.Sum(nil)), nil
}

// recall returns what became of an object, with the metadata that it has now, nil if that is
// not known.
func (m *Memory) recall(q question, o *unstructured.Unstructured) *unstructured.Unstructured {
	m.mu.Lock()
	a, ok := m.known[q]
	m.mu.Unlock()
	if !ok || m.now().Sub(a.at) > rememberedFor {
		return nil
	}
	converted := &unstructured.Unstructured{}
	if converted.UnmarshalJSON(a.object) != nil || restoreMetadata(o, converted) != nil {
		return nil
	}
	return converted
}

func (m *Memory) remember(q question, o *unstructured.Unstructured) {
	text, err := o.MarshalJSON()
	if err != nil || len(text) > rememberedBytes/4 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	m.bytes += len(text) - len(m.known[q].object)
	m.known[q] = answer{object: text, at: now}
	m.order = append(m.order, asked{question: q, at: now})
	for m.bytes > rememberedBytes || now.Sub(m.order[0].at) > rememberedFor {
		oldest := m.order[0]
		m.order = m.order[1:]
		if a := m.known[oldest.question]; a.at.Equal(oldest.at) {
			m.bytes -= len(a.object)
			delete(m.known, oldest.question)
		}
	}
}
