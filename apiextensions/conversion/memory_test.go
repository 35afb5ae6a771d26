package conversion

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// counting converts as None does, on copies, and counts what it was asked.
type counting struct {
	asked int
	fails bool
}

func (c *counting) Convert(ctx context.Context, objs []*unstructured.Unstructured, to schema.GroupVersion) ([]*unstructured.Unstructured, error) {
	c.asked += len(objs)
	if c.fails {
		return nil, errors.New("no")
	}
	copies := make([]*unstructured.Unstructured, len(objs))
	for i, o := range objs {
		copies[i] = o.DeepCopy()
		copies[i].SetLabels(map[string]string{"converted": "yes"})
	}
	return None{}.Convert(ctx, copies, to)
}

// TestMemory asks a converter about what it has not said lately.
func TestMemory(t *testing.T) {
	now := time.Unix(1, 0)
	m := NewMemory()
	m.now = func() time.Time { return now }
	source := &counting{}
	c, other := m.Of(source), m.Of(source)
	convert := func(c Converter, objs ...*unstructured.Unstructured) int {
		t.Helper()
		before := source.asked
		out, err := c.Convert(t.Context(), objs, v2)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range out {
			if o.GetAPIVersion() != v2.String() || o.GetName() != objs[i].GetName() || o.GetResourceVersion() != objs[i].GetResourceVersion() ||
				o.GetGeneration() != objs[i].GetGeneration() || objs[i].GetAPIVersion() != v2.String() && o.GetLabels()["converted"] != "yes" {
				t.Errorf("%v became %v", objs[i].Object, o.Object)
			}
			o.SetName("changed") // the results are the caller's
		}
		return source.asked - before
	}
	written := object("v1", "a")
	written.SetResourceVersion("7")
	written.SetGeneration(2)
	deleted := object("v1", "a")
	deleted.SetFinalizers([]string{"example.com/f"})
	large := object("v1", "large")
	large.Object["spec"] = strings.Repeat("x", rememberedBytes/4)
	for _, step := range []struct {
		name  string
		c     Converter
		objs  []*unstructured.Unstructured
		after time.Duration
		asked int
	}{
		{"at first", c, []*unstructured.Unstructured{object("v1", "a")}, 0, 1},
		{"again", c, []*unstructured.Unstructured{object("v1", "a")}, 0, 0},
		{"as it was written", c, []*unstructured.Unstructured{written}, 0, 0},
		{"with other metadata", c, []*unstructured.Unstructured{deleted}, 0, 1},
		{"beside another one", c, []*unstructured.Unstructured{object("v2", "b"), object("v1", "c"), object("v1", "a")}, 0, 1},
		{"of another definition", other, []*unstructured.Unstructured{object("v1", "a")}, 0, 1},
		{"later", c, []*unstructured.Unstructured{object("v1", "a")}, 2 * rememberedFor, 1},
		{"too large", c, []*unstructured.Unstructured{large}, 0, 1},
		{"too large again", c, []*unstructured.Unstructured{large}, 0, 1},
	} {
		now = now.Add(step.after)
		if asked := convert(step.c, step.objs...); asked != step.asked {
			t.Errorf("%s: asked about %d objects, want %d", step.name, asked, step.asked)
		}
	}
	if len(m.known) != 1 || len(m.order) != 1 {
		t.Errorf("%d answers are kept, want that to the last question", len(m.known))
	}
	source.fails = true
	for range 2 {
		if _, err := c.Convert(t.Context(), []*unstructured.Unstructured{object("v1", "new")}, v2); err == nil {
			t.Error("a failure was forgotten")
		}
	}
	for i := range 100 {
		source.fails = false
		o := object("v1", "n")
		o.Object["spec"] = strings.Repeat("x", rememberedBytes/10+i)
		convert(c, o)
	}
	if m.bytes > rememberedBytes || len(m.known) > len(m.order) {
		t.Errorf("%d bytes in %d answers, %d in order", m.bytes, len(m.known), len(m.order))
	}
}
