package object

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEqualIsSemantic(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		a, b  any
		equal bool
		// identical is whether JSON shows no difference.
		identical bool
	}{
		"nil":                   {nil, nil, true, true},
		"types":                 {int32(1), int64(1), false, false},
		"nil and empty slices":  {[]string(nil), []string{}, true, false},
		"nil and empty maps":    {map[string]string(nil), map[string]string{}, true, false},
		"maps":                  {map[string]string{"a": "1"}, map[string]string{"b": "1"}, false, false},
		"quantities":            {resource.MustParse("1"), resource.MustParse("1000m"), true, true},
		"formats of quantities": {resource.MustParse("1024"), resource.MustParse("1Ki"), true, false},
		"zones":                 {metav1.NewTime(now.UTC()), metav1.NewTime(now.In(time.FixedZone("x", 3600))), true, true},
		"times":                 {metav1.NewTime(now), metav1.NewTime(now.Add(1)), false, false},
		"pointers to nothing":   {&corev1.PodSpec{}, (*corev1.PodSpec)(nil), false, false},
		"managed fields": {metav1.ManagedFieldsEntry{FieldsV1: metav1.NewFieldsV1("{}")},
			metav1.ManagedFieldsEntry{FieldsV1: metav1.NewFieldsV1(`{"f:a":{}}`)}, false, false},
	} {
		if want := equality.Semantic.DeepEqual(c.a, c.b); Equal(c.a, c.b) != want || want != c.equal {
			t.Errorf("%s: %v, want %v; the library: %v", name, !want, c.equal, want)
		}
		if x, y := reflect.ValueOf(c.a), reflect.ValueOf(c.b); x.IsValid() && x.Type() == y.Type() && Identical(x, y) != c.identical {
			t.Errorf("%s: identical %v", name, !c.identical)
		}
	}
}

// Each field of a pod's spec that differs is found, whatever its type.
func TestEqualSeesEachField(t *testing.T) {
	var walk func(at string, v reflect.Value, all func() (any, any))
	walk = func(at string, v reflect.Value, all func() (any, any)) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Field(i); f.CanSet() {
					walk(at+"."+v.Type().Field(i).Name, f, all)
				}
			}
		case reflect.Pointer:
			old := v.Interface()
			v.Set(reflect.New(v.Type().Elem()))
			if a, b := all(); Equal(a, b) || Identical(reflect.ValueOf(a), reflect.ValueOf(b)) {
				t.Errorf("%s: a new value is not seen", at)
			}
			v.Set(reflect.ValueOf(old))
		case reflect.Slice:
			old := v.Slice(0, v.Len())
			v.Set(reflect.MakeSlice(v.Type(), v.Len()+1, v.Len()+1))
			if a, b := all(); Equal(a, b) {
				t.Errorf("%s: a new item is not seen", at)
			}
			v.Set(old)
		case reflect.String:
			v.SetString("x")
			if a, b := all(); Equal(a, b) {
				t.Errorf("%s: a new text is not seen", at)
			}
			v.SetString("")
		case reflect.Bool:
			v.SetBool(true)
			if a, b := all(); Equal(a, b) {
				t.Errorf("%s: true is not seen", at)
			}
			v.SetBool(false)
		}
	}
	spec := func() *corev1.PodSpec {
		return &corev1.PodSpec{Containers: []corev1.Container{{Name: "a", SecurityContext: &corev1.SecurityContext{}}}}
	}
	a, b := spec(), spec()
	all := func() (any, any) { return a, b }
	walk("spec", reflect.ValueOf(b).Elem(), all)
	walk("container", reflect.ValueOf(&b.Containers[0]).Elem(), all)
	walk("context", reflect.ValueOf(b.Containers[0].SecurityContext).Elem(), all)
}

func BenchmarkEqual(b *testing.B) {
	pod := func() *corev1.PodSpec {
		s := &corev1.PodSpec{NodeSelector: map[string]string{"a": "b"}, Volumes: []corev1.Volume{{Name: "v"}}}
		for range 2 {
			s.Containers = append(s.Containers, corev1.Container{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": *resource.NewMilliQuantity(5, resource.DecimalSI)}}})
		}
		return s
	}
	x, y := pod(), pod()
	b.ReportAllocs()
	b.Run("here", func(b *testing.B) {
		for b.Loop() {
			Equal(x, y)
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			equality.Semantic.DeepEqual(*x, *y)
		}
	})
}
