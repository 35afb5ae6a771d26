package codec

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
)

// compareReaders reports whether readJSON reads a document. What it reads must be what the library's strict decoder
// reads, without an error.
func compareReaders(t *testing.T, doc []byte, empty func() runtime.Object) bool {
	t.Helper()
	got, want := empty(), empty()
	if !readJSON(doc, got, shapeOf(reflect.TypeOf(got))) {
		return false
	}
	strictErrs, err := kjson.UnmarshalStrict(doc, want)
	if err != nil || len(strictErrs) > 0 {
		t.Fatalf("%s is read in spite of %v, %v", doc, err, strictErrs)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s is read as\n%#v, want\n%#v", doc, got, want)
	}
	return true
}

// fill sets most fields of a value.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch x := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*x = *resource.NewQuantity(r.Int63n(1000), resource.DecimalSI)
		return
	case *metav1.Time:
		*x = metav1.Unix(r.Int63n(1e9), 0)
		return
	case *metav1.MicroTime:
		*x = metav1.NewMicroTime(metav1.Unix(r.Int63n(1e9), 0).Time)
		return
	case *metav1.FieldsV1:
		*x = *metav1.NewFieldsV1(`{"f:a":{}}`)
		return
	case *runtime.RawExtension:
		x.Raw = []byte(`{"a":[1,"b"]}`)
		return
	}
	if depth == 0 || r.Intn(4) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				fill(r, f, depth-1)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem(), depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.Intn(3), 3))
		for i := range v.Len() {
			fill(r, v.Index(i), depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.Intn(3) {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, key, 1)
			fill(r, elem, depth-1)
			v.SetMapIndex(key, elem)
		}
	case reflect.String:
		v.SetString([]string{"", "a", "ü", "a\"b\\\n", "<&>\u2028"}[r.Intn(5)])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8:
		if v.CanInt() {
			v.SetInt(r.Int63n(1<<31) - 1<<30)
		}
	}
}

// Objects of all built-in kinds are read, as the library does, whole or damaged.
func TestReadJSONIsLikeTheLibrary(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	objects, damaged := 0, 0
	for kind := range clientscheme.Scheme.AllKnownTypes() {
		empty := func() runtime.Object {
			obj, _ := clientscheme.Scheme.New(kind)
			return obj
		}
		for range 20 {
			obj := empty()
			fill(r, reflect.ValueOf(obj).Elem(), 8)
			doc, err := json.Marshal(obj)
			if err != nil {
				continue
			}
			if compareReaders(t, doc, empty) {
				objects++
			}
			for range 20 {
				at, length := r.Intn(len(doc)), 1+r.Intn(4)
				other := slices.Clone(doc)
				switch r.Intn(3) {
				case 0:
					other[at] = ` ",:{}[]01-xn\a`[r.Intn(15)]
				case 1:
					other = slices.Delete(other, at, min(at+length, len(doc)))
				case 2:
					other = slices.Insert(other, at, doc[at:min(at+length, len(doc))]...)
				}
				if compareReaders(t, other, empty) {
					damaged++
				}
			}
		}
	}
	t.Log(objects, "objects and", damaged, "damaged ones were read")
	if objects < 5000 || damaged < 5000 {
		t.Errorf("only %d objects and %d damaged ones were read", objects, damaged)
	}
}

func TestReadJSONLeavesErrorsToTheLibrary(t *testing.T) {
	empty := func() runtime.Object { return &corev1.Pod{} }
	for doc, want := range map[string]bool{
		`{}`: true, ` { "kind" : "Pod" } `: true, `{"metadata":null,"spec":{"containers":null}}`: true,
		`{"spec":{"containers":[]},"metadata":{"labels":{},"annotations":{"a":null}}}`: true, `{"spec":{"containers":[null]}}`: true,
		`{"metadata":{"name":"\u0061\ud800"},"spec":{"nodeSelector":{"\u0061":"b"}}}`: true, `{"spec":{"priority":-0}}`: true,
		`{"metadata":{"creationTimestamp":null,"deletionTimestamp":"2026-01-02T03:04:05Z"}}`: true,
		``: false, `{`: false, `[]`: false, `{}x`: false, `{"kind":"a",}`: false, `{"kind":"a" "kind":"b"}`: false, `{"kind":"a","kind":"b"}`: false,
		`{"Kind":"a"}`: false, `{"k\u0069nd":"a"}`: false, `{"x":1}`: false, `{"spec":{"x":1}}`: false, `{"kind":1}`: false, "{\"kind\":\"\x01\"}": false,
		"{\"kind\":\"\xff\"}": false, `{"kind":"\x"}`: false, `{"spec":{"hostNetwork":"true"}}`: false, `{"spec":{"hostNetwork":truex}}`: false,
		`{"spec":{"priority":1.0}}`: false, `{"spec":{"priority":01}}`: false, `{"spec":{"priority":99999999999}}`: false, `{"spec":{"priority":"1"}}`: false,
		`{"spec":{"nodeSelector":{"a":"b","a":"c"}}}`: false, `{"spec":{"nodeSelector":{"a":1}}}`: false, `{"spec":{"containers":{}}}`: false,
		`{"spec":{"containers":[{}}}`: false, `{"spec":{"containers":[{},]}}`: false, `{"metadata":{"creationTimestamp":"x"}}`: false, `{"spec":nulL}`: false,
	} {
		if got := compareReaders(t, []byte(doc), empty); got != want {
			t.Errorf("%s: %v", doc, got)
		}
	}
	secret := func() runtime.Object { return &corev1.Secret{} }
	for doc, want := range map[string]bool{
		`{"data":{"a":"YQ==","b":"","c":null}}`: true, `{"data":{"a":"YQ="}}`: false, `{"data":{"a":[97]}}`: false, `{"data":{"a":"YQ\u003d="}}`: false,
	} {
		if got := compareReaders(t, []byte(doc), secret); got != want {
			t.Errorf("%s: %v", doc, got)
		}
	}
}

func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(`{"kind":"Pod","metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"resources":{"limits":{"cpu":1}}}],"priority":1}}`))
	f.Fuzz(func(t *testing.T, doc []byte) { compareReaders(t, doc, func() runtime.Object { return &corev1.Pod{} }) })
}

func BenchmarkReadJSON(b *testing.B) {
	doc := []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"app":"bench"}},"spec":{"containers":[{"name":"main",` +
		`"image":"registry.example.com/team/service:v1.2.3","args":["--listen=:8080"],"env":[{"name":"A","value":"b"}],` +
		`"ports":[{"containerPort":8080}],"resources":{"requests":{"cpu":"100m"}}}],"serviceAccountName":"default"}}`)
	b.Run("here", func(b *testing.B) {
		b.ReportAllocs()
		s := shapeOf(reflect.TypeFor[*corev1.Pod]())
		for b.Loop() {
			readJSON(doc, &corev1.Pod{}, s)
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = kjson.UnmarshalStrict(doc, &corev1.Pod{})
		}
	})
}
