package managedfields

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	library "k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

var configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

func configMap(data map[string]string, entries ...metav1.ManagedFieldsEntry) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "uid", ResourceVersion: "1", ManagedFields: entries},
		Data:       data,
	}
}

func entry(manager, version, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: version,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Time: &metav1.Time{}}
}

// What clients send as managed fields, or other servers have stored, has the same
// effect on both ways; short says which of them is to go the short one.
func TestEntriesAsTheyCome(t *testing.T) {
	const own = `{"f:data":{".":{},"f:a":{}}}`
	tests := []struct {
		name        string
		subresource string
		live, obj   []metav1.ManagedFieldsEntry
		short       bool
	}{
		{name: "none", short: true},
		{name: "live has some", live: []metav1.ManagedFieldsEntry{entry("m", "v1", own)}, short: true},
		{name: "sent back", live: []metav1.ManagedFieldsEntry{entry("m", "v1", own)}, obj: []metav1.ManagedFieldsEntry{entry("m", "v1", own)}, short: true},
		{name: "changed by the client", live: []metav1.ManagedFieldsEntry{entry("m", "v1", own)}, obj: []metav1.ManagedFieldsEntry{entry("n", "v1", own)}, short: true},
		{name: "another's", live: []metav1.ManagedFieldsEntry{entry("n", "v1", own)}, short: true},
		{name: "reset by an empty list", live: []metav1.ManagedFieldsEntry{entry("m", "v1", own)}, obj: []metav1.ManagedFieldsEntry{}, short: true},
		{name: "reset by an empty entry", live: []metav1.ManagedFieldsEntry{entry("m", "v1", own)}, obj: []metav1.ManagedFieldsEntry{{}}, short: true},
		{name: "through a subresource", subresource: "status", live: []metav1.ManagedFieldsEntry{entry("m", "v1", own)}, obj: []metav1.ManagedFieldsEntry{entry("n", "v1", own)}, short: true},
		{name: "all fields lost", live: []metav1.ManagedFieldsEntry{entry("n", "v1", `{"f:data":{"f:b":{}}}`)}, short: true},
		{name: "another version", live: []metav1.ManagedFieldsEntry{entry("m", "v2", own)}},
		{name: "no version", obj: []metav1.ManagedFieldsEntry{entry("m", "", own)}},
		{name: "no fields", live: []metav1.ManagedFieldsEntry{entry("m", "v1", `{}`)}},
		{name: "broken fields", obj: []metav1.ManagedFieldsEntry{entry("m", "v1", `{"x":1`)}},
		{name: "unusual form", live: []metav1.ManagedFieldsEntry{entry("m", "v1", `{"f:data": {"f:a": {}}}`)}},
		{name: "fields that nobody owns", live: []metav1.ManagedFieldsEntry{entry("m", "v1", `{"f:metadata":{"f:name":{}}}`)}},
		{name: "twice", live: []metav1.ManagedFieldsEntry{entry("m", "v1", own), entry("m", "v1", own)}},
		{name: "whole where it is granular", live: []metav1.ManagedFieldsEntry{entry("m", "v1", `{"f:data":{}}`)}, short: true},
		{name: "unknown field", live: []metav1.ManagedFieldsEntry{entry("m", "v1", `{"f:nope":{"f:x":{}}}`)}, short: true},
	}
	var many []metav1.ManagedFieldsEntry
	for i := range maxUpdaters {
		many = append(many, entry(fmt.Sprint("m", i), "v1", own))
	}
	tests = append(tests, struct {
		name        string
		subresource string
		live, obj   []metav1.ManagedFieldsEntry
		short       bool
	}{name: "too many", live: many})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newManager(t, configMapKind, tt.subresource, nil)
			live := configMap(map[string]string{"a": "1", "b": "1"}, tt.live...)
			obj := configMap(map[string]string{"a": "1", "c": "1"}, tt.obj...)
			obj.ManagedFields = tt.obj
			for _, manager := range []string{"m", "", "M\xff"} {
				if _, short := both(t, m, live, obj, manager); manager == "m" && short != tt.short {
					t.Errorf("short way %t, want %t", short, tt.short)
				}
			}
			if got := m.Update(t.Context(), live.DeepCopy(), obj.DeepCopy(), "m"); entriesOf(t, got) == "" && len(tt.live) > 0 && tt.obj == nil && tt.short && tt.name != "all fields lost" {
				t.Error("managed fields are gone")
			}
		})
	}
}

func TestSetsAreForgotten(t *testing.T) {
	m := newManager(t, configMapKind, "", nil)
	live := configMap(nil)
	live.UID = ""
	for i := range 3 * maxSets {
		m.Update(t.Context(), live, configMap(map[string]string{fmt.Sprint("k", i): ""}), "m")
	}
	if n := len(m.sets.young) + len(m.sets.old); n == 0 || n > 2*maxSets {
		t.Errorf("%d sets are kept, want at most %d", n, 2*maxSets)
	}
}

const customSchema = `{"type":"object","x-kubernetes-group-version-kind":[{"group":"e.com","version":"v1","kind":"Custom"}],"properties":{
"apiVersion":{"type":"string"},"kind":{"type":"string"},"metadata":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
"spec":{"type":"object","properties":{
 "s":{"type":"string"},"n":{"type":"integer"},"b":{"type":"boolean"},"f":{"type":"number"},
 "any":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"port":{"x-kubernetes-int-or-string":true},
 "map":{"type":"object","additionalProperties":{"type":"string"}},
 "atom":{"type":"object","x-kubernetes-map-type":"atomic","properties":{"a":{"type":"string"},"l":{"type":"array","items":{"type":"integer"}}}},
 "plain":{"type":"array","items":{"type":"string"}},
 "set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
 "list":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k","p"],"items":{"type":"object","properties":{
   "k":{"type":"string"},"p":{"type":"string","default":"TCP"},"v":{"type":"integer"},"o":{"type":"object","properties":{"x":{"type":"string"}}}}}}
}}}}`

var customKind = schema.GroupVersionKind{Group: "e.com", Version: "v1", Kind: "Custom"}

// custom makes nothing but custom objects.
type custom struct{ *runtime.Scheme }

func (custom) New(schema.GroupVersionKind) (runtime.Object, error) { return newCustom(), nil }

func (custom) Default(runtime.Object) {}

func (custom) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func newCustom() runtime.Object {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(customKind)
	return u
}

// customTypes are the type converters of the custom kind with a schema and without one.
func customTypes(t *testing.T) map[string]library.TypeConverter {
	t.Helper()
	var s spec.Schema
	if err := json.Unmarshal([]byte(customSchema), &s); err != nil {
		t.Fatal(err)
	}
	byModel, err := library.NewTypeConverter(map[string]*spec.Schema{"custom": &s}, false)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]library.TypeConverter{"schema": byModel, "none": library.NewDeducedTypeConverter()}
}

func customManager(t testing.TB, types library.TypeConverter) *Manager {
	t.Helper()
	c := custom{runtime.NewScheme()}
	lib, err := library.NewDefaultCRDFieldManager(types, c, c, c, customKind, customKind.GroupVersion(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Library: lib, Types: types, Kind: customKind, New: newCustom})
}

// values are what fields of the custom kind are filled with, some of them wrong.
var values = map[string][]any{
	"s": {"a", "b", "", nil, int64(1)}, "n": {int64(1), int64(2), nil}, "b": {true, false}, "f": {1.5, int64(1), 1.0},
	"any":  {map[string]any{}, map[string]any{"x": int64(1), "l": []any{"a", map[string]any{"b": nil}}}, map[string]any{"x": "1"}, nil},
	"port": {int64(80), "http"}, "map": {map[string]any{}, map[string]any{"a": "1"}, map[string]any{"a": "2", "b": "1"}, nil},
	"atom":  {map[string]any{}, map[string]any{"a": "1", "l": []any{int64(1)}}, map[string]any{"a": "2"}, map[string]any{"nope": "2"}, nil},
	"plain": {[]any{}, []any{"a", "a"}, []any{"b"}, nil},
	"set":   {[]any{}, []any{"a", "b"}, []any{"b", "c"}, []any{"a", "a"}, nil},
	"list": {[]any{}, nil, []any{map[string]any{"k": "a", "v": int64(1)}}, []any{map[string]any{"k": "a", "p": "UDP"}, map[string]any{"k": "a", "o": map[string]any{"x": "1"}}},
		[]any{map[string]any{"k": "b", "o": map[string]any{}}, map[string]any{"k": "a", "p": "TCP", "v": int64(2)}}, []any{map[string]any{"v": int64(2)}}},
}

func randomCustom(r *rand.Rand, base *unstructured.Unstructured) *unstructured.Unstructured {
	u := base.DeepCopy()
	s, _ := u.Object["spec"].(map[string]any)
	if s == nil {
		s = map[string]any{}
	}
	for name, choices := range values {
		switch r.Intn(4) {
		case 0:
			s[name] = runtime.DeepCopyJSONValue(choices[r.Intn(len(choices))])
		case 1:
			delete(s, name)
		}
	}
	u.Object["spec"] = s
	if r.Intn(3) == 0 {
		u.SetLabels(map[string]string{"l": fmt.Sprint(r.Intn(2))})
	}
	return u
}

func TestUpdatesOfCustomResourcesAreAsTheLibrarys(t *testing.T) {
	for name, types := range customTypes(t) {
		t.Run(name, func(t *testing.T) {
			m := customManager(t, types)
			short, all := 0, 0
			for seed := range int64(300) {
				r := rand.New(rand.NewSource(seed))
				live := newCustom().(*unstructured.Unstructured)
				obj := live.DeepCopy()
				obj.SetName("a")
				obj.SetUID("uid")
				for _, manager := range []string{"one", "two", "one"} {
					obj = randomCustom(r, obj)
					next, quick := both(t, m, live, obj, manager)
					if all++; quick {
						short++
					}
					live = next.(*unstructured.Unstructured)
					obj = live.DeepCopy()
				}
			}
			checkShort(t, short, all, 4)
		})
	}
}

func pod() *corev1.Pod {
	p := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "uid", Labels: map[string]string{"app": "x", "tier": "1"}}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i", Args: []string{"-v"}, Ports: []corev1.ContainerPort{{ContainerPort: 80, Protocol: "TCP"}},
		Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}, VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}}}
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}}}
	return p
}

// BenchmarkUpdate measures what a write of a pod costs for its managed fields.
func BenchmarkUpdate(b *testing.B) {
	m := newManager(b, corev1.SchemeGroupVersion.WithKind("Pod"), "", nil)
	empty := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	live := m.Update(b.Context(), empty.DeepCopy(), pod(), "bench").(*corev1.Pod)
	labels := maps.Clone(live.Labels)
	labels["tier"] = "2"
	library := func(live, obj runtime.Object) { m.options.Library.UpdateNoErrors(live, obj, "bench") }
	short := func(live, obj runtime.Object) { m.Update(b.Context(), live, obj, "bench") }
	for name, update := range map[string]func(live, obj runtime.Object){"short": short, "library": library} {
		b.Run("create/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				update(empty, pod())
			}
		})
		b.Run("label/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				obj := *live
				obj.Labels = labels
				update(live, &obj)
			}
		})
	}
}

// An update of what its owner has already keeps the set that is there.
func TestUnchangedSetsAreShared(t *testing.T) {
	m := newManager(t, configMapKind, "", nil)
	empty := configMap(nil)
	empty.UID = ""
	live := m.Update(t.Context(), empty, configMap(map[string]string{"a": "1"}), "m").(*corev1.ConfigMap)
	before := entriesOf(t, live)
	for i := range 5 {
		obj := live.DeepCopy()
		obj.Data = map[string]string{"a": fmt.Sprint(i)}
		live = m.Update(t.Context(), live, obj, "m").(*corev1.ConfigMap)
	}
	if after := entriesOf(t, live); after != before || !strings.Contains(after, "f:a") {
		t.Errorf("managed fields\n%s\nwere\n%s", after, before)
	}
	if n := len(m.sets.young); n != 1 {
		t.Errorf("%d sets are known, want 1", n)
	}
}

// Writers share a manager, and the sets that it knows.
func TestManyWriters(t *testing.T) {
	m := newManager(t, configMapKind, "", nil)
	empty := configMap(nil)
	empty.UID = ""
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			live := m.Update(t.Context(), empty.DeepCopy(), configMap(map[string]string{"a": "1"}), "m").(*corev1.ConfigMap)
			for i := range 50 {
				obj := live.DeepCopy()
				obj.Data = map[string]string{"a": fmt.Sprint(i), fmt.Sprint("k", i%5): ""}
				live = m.Update(t.Context(), live, obj, fmt.Sprint("w", (w+i)%3)).(*corev1.ConfigMap)
				// The caller may do with the object what it likes.
				live.ManagedFields[0].FieldsV1.GetRawBytes()[0] = '{'
			}
			if entriesOf(t, live) == "" {
				t.Error("managed fields are gone")
			}
		})
	}
	wg.Wait()
}
