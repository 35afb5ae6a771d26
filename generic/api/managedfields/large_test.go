package managedfields

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	library "k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// largeManager keeps fields of custom resources, and ends with its contexts.
func largeManager(t *testing.T) *Manager {
	t.Helper()
	var s spec.Schema
	if err := json.Unmarshal([]byte(customSchema), &s); err != nil {
		t.Fatal(err)
	}
	types, err := library.NewTypeConverter(map[string]*spec.Schema{"custom": &s}, false)
	if err != nil {
		t.Fatal(err)
	}
	m := customManager(t, types)
	c := custom{runtime.NewScheme()}
	m.options.LibraryOf = func(types library.TypeConverter) (*library.FieldManager, error) {
		return library.NewDefaultCRDFieldManager(types, c, c, c, customKind, customKind.GroupVersion(), "", nil)
	}
	return m
}

// largeCustom has lists and a map of n entries in no order, the first of which is the offset.
func largeCustom(n, offset int) *unstructured.Unstructured {
	set, list, fields := make([]any, n), make([]any, n), make(map[string]any, n)
	for i := range n {
		name := fmt.Sprint("e", (i+offset)*7919%100_003)
		set[i], list[i], fields[name] = name, map[string]any{"k": name, "v": int64(i)}, "x"
	}
	u := newCustom().(*unstructured.Unstructured)
	u.SetName("a")
	u.SetUID("uid")
	u.Object["spec"] = map[string]any{"set": set, "list": list, "map": fields}
	return u
}

// Large lists and maps are owned as the library has it, in whatever order they are.
func TestLargeObjectsAreOwnedAsTheLibrarys(t *testing.T) {
	m := largeManager(t)
	live := newCustom()
	for i, obj := range []*unstructured.Unstructured{largeCustom(1000, 0), largeCustom(1000, 500), largeCustom(700, 0), largeCustom(5, 0), largeCustom(1000, 0)} {
		next, short := both(t, m, live, obj, fmt.Sprint("m", i%2))
		if !short {
			t.Errorf("update %d is left to the library", i)
		}
		live = next
	}
	data := map[string]string{}
	for i := range 1000 {
		data[fmt.Sprint("k", i*7919%100_003)] = "x"
	}
	typed := newManager(t, configMapKind, "", nil)
	first, short := both(t, typed, configMap(nil), configMap(data), "m")
	_, again := both(t, typed, first, configMap(map[string]string{"k0": "y"}), "n")
	if !short || !again {
		t.Error("updates of a large map are left to the library")
	}
}

// The memory that the creation of a large object takes grows with its size, in whatever order its items are.
func TestCreationsOfLargeObjectsAllocateLittle(t *testing.T) {
	m := largeManager(t)
	allocated := func(n int) uint64 {
		obj := largeCustom(n, 0)
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		if !m.update(newCustom(), obj, "m") {
			t.Fatal("the creation is left to the library")
		}
		goruntime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(1) // what is kept
	if few, many := allocated(1000), allocated(10_000); many > 20*few {
		t.Errorf("%d bytes for 1,000 items, %d for 10,000", few, many)
	}
}

// The library visits the entries of large maps, be they trees or Go maps, in the order of their keys.
func TestLargeMapsAreOrdered(t *testing.T) {
	tree, fields := map[string]any{}, map[string]string{}
	for i := range 1000 {
		tree[fmt.Sprint("k", i)], fields[fmt.Sprint("k", i)] = "x", "x"
	}
	reflected, err := value.NewValueReflect(&fields)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []value.Value{value.NewValueInterface(tree), reflected} {
		m := (&ending{ctx: t.Context()}).value(v).AsMap()
		var iterated, zipped []string
		m.Iterate(func(key string, _ value.Value) bool { iterated = append(iterated, key); return true })
		m.Zip(m, value.Unordered, func(key string, _, _ value.Value) bool { zipped = append(zipped, key); return true })
		for _, keys := range [][]string{iterated, zipped} {
			if len(keys) != 1000 || !slices.IsSorted(keys) {
				t.Errorf("%d keys in another order: %.5q", len(keys), keys)
			}
		}
	}
}

// Large objects are applied as small ones are, but the work ends with the context.
func TestApplyOfLargeObjectsEnds(t *testing.T) {
	m := largeManager(t)
	if obj := largeCustom(10, 0); m.library(t.Context(), obj) != m.options.Library {
		t.Error("small objects have a library of their own")
	}
	live, applied := largeCustom(3000, 1000), largeCustom(3000, 0)
	applied.SetUID("")
	want, err := m.options.Library.Apply(live.DeepCopy(), applied.DeepCopy(), "m", true)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Apply(t.Context(), live.DeepCopy(), applied.DeepCopy(), "m", true)
	if err != nil {
		t.Fatal(err)
	}
	if entriesOf(t, got) != entriesOf(t, want) || fmt.Sprint(got.(*unstructured.Unstructured).Object["spec"]) != fmt.Sprint(want.(*unstructured.Unstructured).Object["spec"]) {
		t.Error("a large object is applied in another way than the library does")
	}
	wrong := largeCustom(10, 0)
	wrong.Object["spec"].(map[string]any)["plain"] = make([]any, 5000)
	for i := range 5000 {
		wrong.Object["spec"].(map[string]any)["plain"].([]any)[i] = int64(i)
	}
	_, err = m.Apply(t.Context(), live.DeepCopy(), wrong.DeepCopy(), "m", true)
	_, all := m.options.Library.Apply(live.DeepCopy(), wrong, "m", true)
	if err == nil || strings.Count(err.Error(), "expected string") != maxErrors || all == nil || !strings.HasPrefix(all.Error(), err.Error()) {
		t.Errorf("%.1000v, want the beginning of %.1000v", err, all)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Apply(ctx, live.DeepCopy(), applied.DeepCopy(), "m", true); !errors.Is(err, context.Canceled) {
		t.Errorf("apply does not end with its context: %v", err)
	}
	// What is there twice is the library's in updates, too.
	twice := largeCustom(3000, 0)
	set := twice.Object["spec"].(map[string]any)["set"].([]any)
	set[0] = set[1]
	if got := m.Update(ctx, live.DeepCopy(), twice, "m"); entriesOf(t, got) != "" {
		t.Error("an update does not end with its context")
	}
}

// A large set in another order than the library's is not taken.
func TestUnorderedSetsAreDropped(t *testing.T) {
	set := fieldpath.NewSet()
	for i := range 8000 {
		set.Insert(fieldpath.MakePathOrDie("data", fmt.Sprint("k", i)))
	}
	usual, err := set.ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	reversed := `{"f:data":{"f:z":{},` + strings.TrimPrefix(string(usual), `{"f:data":{`)
	for _, c := range []struct {
		fields  string
		tooMuch bool
	}{
		{string(usual), false}, {reversed, true}, {`{"f:b":{},"f:a":{}}`, false},
		{`{"f:x":{".":{},"k:{\"a\":1}":{},"v:1":{},"i:0":{}` + strings.Repeat(" ", maxUnordered) + `}}`, false},
		{`{"v:1":{},"f:a":{}}` + strings.Repeat(" ", maxUnordered), true}, {"[" + strings.Repeat(" ", maxUnordered) + "]", true},
		{`{"x:1":{}` + strings.Repeat(" ", maxUnordered), true}, {"{}{}" + strings.Repeat(" ", maxUnordered), true},
	} {
		if got := tooMuch([]metav1.ManagedFieldsEntry{entry("one", "v1", c.fields)}); got != c.tooMuch {
			t.Errorf("%.60q is too much: %t", c.fields, got)
		}
	}
}
