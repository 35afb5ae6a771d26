package managedfields

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	library "k8s.io/apimachinery/pkg/util/managedfields"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/api/openapi/models"
)

var (
	// knownTypes are the built-in kinds and the CRD.
	knownTypes    = newScheme()
	typeConverter = openapi.NewTypeConverter(&models.Source{}, knownTypes)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgo.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}

// sameVersion converts nothing: all objects of these tests are of one version.
type sameVersion struct{ *runtime.Scheme }

func (s sameVersion) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	if _, ok := in.(runtime.Unstructured); ok {
		return in, nil
	}
	return s.Scheme.ConvertToVersion(in, target)
}

func newManager(t testing.TB, kind schema.GroupVersionKind, subresource string, ignore *fieldpath.Set) *Manager {
	t.Helper()
	filters := map[fieldpath.APIVersion]fieldpath.Filter{}
	o := Options{Types: typeConverter, Kind: kind, Subresource: subresource, New: func() runtime.Object {
		obj, err := knownTypes.New(kind)
		if err != nil {
			t.Fatal(err)
		}
		return obj
	}}
	if ignore != nil {
		o.Reset = ignore
		filters[fieldpath.APIVersion(kind.GroupVersion().String())] = fieldpath.NewExcludeSetFilter(ignore)
	}
	s := sameVersion{knownTypes}
	var err error
	o.Library, err = library.NewDefaultFieldManager(typeConverter, s, s, s, kind, kind.GroupVersion(), subresource, filters)
	if err != nil {
		t.Fatal(err)
	}
	return New(o)
}

// entriesOf shows managed fields without their times.
func entriesOf(t testing.TB, obj runtime.Object) string {
	t.Helper()
	m, err := meta.Accessor(obj)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range m.GetManagedFields() {
		fmt.Fprintf(&b, "%s %s %s %q time=%t %s\n", e.Manager, e.Operation, e.APIVersion, e.Subresource, e.Time != nil, e.FieldsV1.GetRawString())
	}
	return b.String()
}

// both updates by the short way and by the library, and compares.
func both(t testing.TB, m *Manager, live, obj runtime.Object, manager string) (out runtime.Object, short bool) {
	t.Helper()
	var byLibrary, got, before runtime.Object
	// Entries are ordered by time in seconds: both have to write in the same one.
	for second := int64(-1); second != time.Now().Unix(); {
		second = time.Now().Unix()
		byLibrary = m.options.Library.UpdateNoErrors(live.DeepCopyObject(), obj.DeepCopyObject(), manager)
		got, before = obj.DeepCopyObject(), live.DeepCopyObject()
		short = m.update(before, got, manager)
	}
	if !short {
		if !reflect.DeepEqual(got, obj) {
			t.Fatalf("giving up changed the object: %v", got)
		}
		return byLibrary, false
	}
	if !reflect.DeepEqual(before, live) {
		t.Fatal("the live object was changed")
	}
	if want, have := entriesOf(t, byLibrary), entriesOf(t, got); want != have {
		t.Fatalf("%T: managed fields\n%s\nwant\n%s\nfrom %+v\nto %+v", obj, have, want, live, obj)
	}
	return got, true
}

// checkShort fails if fewer than one in part of all writes went the short way.
func checkShort(t *testing.T, short, all, part int) {
	t.Helper()
	t.Logf("%d of %d went the short way", short, all)
	if short < all/part {
		t.Errorf("only %d of %d went the short way", short, all)
	}
}

func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(.4).NumElements(0, 3).MaxDepth(9).Funcs(
		func(m *metav1.ObjectMeta, c randfill.Continue) {
			m.Name, m.Namespace, m.UID = "name", "ns", types.UID("uid")
			c.Fill(&m.Labels)
			c.Fill(&m.Annotations)
			c.Fill(&m.OwnerReferences)
			c.Fill(&m.Finalizers)
		},
		func(*metav1.TypeMeta, randfill.Continue) {},
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(int64(c.Intn(3)), 0) },
		func(t *metav1.MicroTime, c randfill.Continue) { t.Time = metav1.Unix(int64(c.Intn(3)), 0).Time },
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(int64(c.Intn(3)), resource.DecimalSI)
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(int32(c.Intn(3)))
			if c.Bool() {
				*v = intstr.FromString("http")
			}
		},
		func(v *apiextensionsv1.JSON, c randfill.Continue) {
			v.Raw = []byte([]string{`1`, `"a"`, `{"b":[1]}`}[c.Intn(3)])
		},
		func(r *runtime.RawExtension, _ randfill.Continue) { r.Raw = []byte(`{"a":{"b":1},"c":[1,"x"]}`) },
		// Few different strings, so that lists have items in common.
		func(s *string, c randfill.Continue) { *s = []string{"", "a", "b", "c", "d", "e"}[c.Intn(6)] },
		func(n *int32, c randfill.Continue) { *n = int32(c.Intn(3)) },
		func(n *int64, c randfill.Continue) { *n = int64(c.Intn(3)) },
	)
}

// change sets one field of an object to something else.
func change(f *randfill.Filler, r *rand.Rand, obj runtime.Object) {
	v := reflect.ValueOf(obj).Elem()
	for v.Kind() == reflect.Struct && v.NumField() > 0 {
		field := v.Field(r.Intn(v.NumField()))
		if !field.CanSet() || field.Type() == reflect.TypeFor[metav1.TypeMeta]() || field.Type() == reflect.TypeFor[metav1.ObjectMeta]() {
			return
		}
		if field.Kind() == reflect.Pointer && !field.IsNil() && r.Intn(3) > 0 {
			field = field.Elem()
		}
		if field.Kind() == reflect.Slice && field.Len() > 0 && r.Intn(3) > 0 {
			field = field.Index(r.Intn(field.Len()))
		}
		if field.Kind() != reflect.Struct || r.Intn(4) == 0 || value.TypeReflectEntryOf(field.Type()).CanConvertToUnstructured() {
			f.Fill(field.Addr().Interface())
			return
		}
		v = field
	}
}

func TestUpdatesAreAsTheLibrarys(t *testing.T) {
	const rounds = 8
	short, long := 0, 0
	for kind := range knownTypes.AllKnownTypes() {
		obj, err := knownTypes.New(kind)
		if _, notMeta := meta.Accessor(obj); err != nil || notMeta != nil || strings.HasSuffix(kind.Kind, "List") || kind.Version == runtime.APIVersionInternal {
			continue
		}
		empty := obj.DeepCopyObject()
		empty.GetObjectKind().SetGroupVersionKind(kind)
		if _, err := typeConverter.ObjectToTyped(empty); err != nil {
			continue // has no model
		}
		m := newManager(t, kind, "", fieldpath.NewSet(fieldpath.MakePathOrDie("status")))
		for seed := range int64(rounds) {
			f, r := filler(seed), rand.New(rand.NewSource(seed))
			live := empty.DeepCopyObject()
			a := empty.DeepCopyObject()
			f.Fill(a)
			a.GetObjectKind().SetGroupVersionKind(kind)
			for step := range 4 {
				next, quick := both(t, m, live, a, []string{"one", "two", "one", "three"}[step])
				if quick {
					short++
				} else {
					long++
				}
				live, a = next, next.DeepCopyObject()
				if step%2 == 0 {
					change(f, r, a)
				} else {
					managed, _ := meta.Accessor(next)
					f.Fill(a)
					again, _ := meta.Accessor(a)
					again.SetManagedFields(managed.GetManagedFields())
				}
				a.GetObjectKind().SetGroupVersionKind(kind)
			}
		}
	}
	checkShort(t, short, short+long, 2)
}

// bothApply applies a document to no object by the short way and by the library, and compares.
func bothApply(t testing.TB, m *Manager, empty runtime.Object, document *unstructured.Unstructured) (short bool) {
	t.Helper()
	apply := func(by func(live, document runtime.Object) (runtime.Object, error)) (result runtime.Object, failure string) {
		obj, err := by(empty.DeepCopyObject(), document.DeepCopy())
		if err != nil {
			return nil, err.Error()
		}
		if u, ok := obj.(runtime.Unstructured); ok {
			typed := empty.DeepCopyObject()
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.UnstructuredContent(), typed); err != nil {
				t.Fatal(err)
			}
			obj = typed
		}
		return obj, ""
	}
	want, refused := apply(func(live, document runtime.Object) (runtime.Object, error) {
		return m.options.Library.Apply(live, document, "me", false)
	})
	given := document.DeepCopy()
	have, failure := apply(func(live, document runtime.Object) (runtime.Object, error) {
		var obj runtime.Object
		obj, short = m.applyNew(live, document, "me")
		if !reflect.DeepEqual(document, runtime.Object(given)) {
			t.Errorf("%T: the document was changed", empty)
		}
		return obj, nil
	})
	if !short {
		return false
	}
	if refused != "" || failure != "" {
		t.Fatalf("%T: the library refuses %v: %s", empty, document, refused)
	}
	escaped := func(s string) string { // as JSON has it
		var b bytes.Buffer
		json.HTMLEscape(&b, []byte(s))
		return b.String()
	}
	if want, have := escaped(entriesOf(t, want)), escaped(entriesOf(t, have)); want != have {
		t.Fatalf("%T: managed fields\n%s\nwant\n%s\nof %v", empty, have, want, document)
	}
	for _, obj := range []runtime.Object{want, have} {
		o, err := meta.Accessor(obj)
		if err != nil {
			t.Fatal(err)
		}
		o.SetManagedFields(nil)
	}
	if w, h := asJSON(t, want), asJSON(t, have); w != h {
		t.Fatalf("%T: the object is\n%s\nwant\n%s", empty, h, w)
	}
	return true
}

func asJSON(t testing.TB, obj runtime.Object) string {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAppliesOfNewObjectsAreAsTheLibrarys(t *testing.T) {
	short, long := 0, 0
	for kind := range knownTypes.AllKnownTypes() {
		obj, err := knownTypes.New(kind)
		if _, notMeta := meta.Accessor(obj); err != nil || notMeta != nil || strings.HasSuffix(kind.Kind, "List") || kind.Version == runtime.APIVersionInternal {
			continue
		}
		obj.GetObjectKind().SetGroupVersionKind(kind)
		if _, err := typeConverter.ObjectToTyped(obj); err != nil {
			continue // has no model
		}
		m := newManager(t, kind, "", fieldpath.NewSet(fieldpath.MakePathOrDie("status")))
		m.options.Created = func(document runtime.Object) (runtime.Object, error) {
			typed := m.options.New()
			return typed, runtime.DefaultUnstructuredConverter.FromUnstructured(document.(*unstructured.Unstructured).Object, typed)
		}
		for seed := range int64(8) {
			filled := obj.DeepCopyObject()
			filler(seed).Fill(filled)
			inASCII(reflect.ValueOf(filled))
			filled.GetObjectKind().SetGroupVersionKind(kind)
			tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(filled)
			if err != nil {
				t.Fatal(err)
			}
			document := &unstructured.Unstructured{Object: tree}
			document.SetUID("")
			if seed == 0 {
				document.Object = map[string]any{"apiVersion": tree["apiVersion"], "kind": tree["kind"], "metadata": map[string]any{"name": "alone"}}
			}
			if bothApply(t, m, obj, document) {
				short++
			} else {
				long++
			}
		}
	}
	checkShort(t, short, short+long, 2)
}

// What exists, what has managed fields and what is of another kind is left to the library.
func TestOtherAppliesAreTheLibrarys(t *testing.T) {
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	m := newManager(t, kind, "", nil)
	m.options.Created = func(runtime.Object) (runtime.Object, error) { return &corev1.ConfigMap{}, nil }
	empty := func() *corev1.ConfigMap {
		o := &corev1.ConfigMap{}
		o.SetGroupVersionKind(kind)
		return o
	}
	document := func(change func(*unstructured.Unstructured)) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"a": "b"}}}
		u.SetGroupVersionKind(kind)
		u.SetName("x")
		change(u)
		return u
	}
	same := func(*unstructured.Unstructured) {}
	if _, ok := m.applyNew(empty(), document(same), "me"); !ok {
		t.Error("the short way does not create")
	}
	existing := empty()
	existing.Name, existing.UID = "x", "1"
	for name, c := range map[string]struct {
		live     runtime.Object
		document runtime.Object
		manager  string
	}{
		"an existing object": {existing, document(same), "me"},
		"another kind":       {empty(), document(func(u *unstructured.Unstructured) { u.SetKind("Secret") }), "me"},
		"managed fields":     {empty(), document(func(u *unstructured.Unstructured) { u.SetManagedFields([]metav1.ManagedFieldsEntry{{}}) }), "me"},
		"no name":            {empty(), document(func(u *unstructured.Unstructured) { u.SetName("") }), "me"},
		"no manager":         {empty(), document(same), ""},
		"an unknown field":   {empty(), document(func(u *unstructured.Unstructured) { u.Object["other"] = "x" }), "me"},
		"a typed document":   {empty(), existing, "me"},
	} {
		if _, ok := m.applyNew(c.live, c.document, c.manager); ok {
			t.Errorf("%s goes the short way", name)
		}
	}
}

// Entries beyond what can be tracked are as if they had not been sent.
func TestFloodOfEntries(t *testing.T) {
	m := newManager(t, configMapKind, "", nil)
	var flood []metav1.ManagedFieldsEntry
	for i := range maxEntries + 1 {
		flood = append(flood, entry(fmt.Sprint("m", i), "v1", fmt.Sprintf(`{"f:data":{"f:k%d":{}}}`, i)))
	}
	live := configMap(map[string]string{"a": "x"}, entry("one", "v1", `{"f:data":{".":{},"f:a":{}}}`))
	owners := func(obj runtime.Object) (all []string) {
		for _, e := range obj.(metav1.Object).GetManagedFields() {
			all = append(all, e.Manager+" "+e.FieldsV1.GetRawString())
		}
		return all
	}
	want := owners(m.Update(t.Context(), live, configMap(map[string]string{"a": "y"}), "two"))
	if got := owners(m.Update(t.Context(), live, configMap(map[string]string{"a": "y"}, flood...), "two")); len(want) != 2 || !slices.Equal(got, want) {
		t.Errorf("owners are %q, want %q", got, want)
	}
	stored := configMap(map[string]string{"a": "x"}, flood...)
	if got := m.Update(t.Context(), stored, configMap(map[string]string{"a": "y"}), "two").(metav1.Object).GetManagedFields(); len(got) > maxUpdaters {
		t.Errorf("%d entries are left", len(got))
	}
	if len(stored.ManagedFields) != len(flood) {
		t.Error("the live object was changed")
	}
}

// What is applied may not have managed fields, however many and in whatever form.
func TestAppliedEntriesAreRefused(t *testing.T) {
	m := newManager(t, configMapKind, "", nil)
	many := make([]metav1.ManagedFieldsEntry, maxEntries+1)
	for _, entries := range [][]metav1.ManagedFieldsEntry{many, {entry("one", "v1", "{}0")}} {
		if _, err := m.Apply(t.Context(), configMap(nil), configMap(map[string]string{"a": "b"}, entries...), "two", true); err == nil {
			t.Errorf("%d entries are taken", len(entries))
		}
	}
}
