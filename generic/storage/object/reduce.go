package object

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Reduce returns a shallow copy of a Go struct that has only its kind and the top-level fields whose JSON names are
// accepted. complete sets the other fields in an object of the same type to deep copies. Objects that cannot be
// reduced, such as trees, are returned as they are.
func Reduce(obj runtime.Object, accepts func(name string) bool) (
	reduced runtime.Object, complete func(runtime.Object)) {
	whole := func(runtime.Object) {}
	v := reflect.ValueOf(obj)
	if !Typed(obj) || v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return obj, whole
	}
	v = v.Elem()
	part, rest := reflect.New(v.Type()), reflect.New(v.Type())
	var others []int
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		kind := field.Type == reflect.TypeFor[metav1.TypeMeta]()
		switch {
		case name == "" && !kind || !field.IsExported():
			return obj, whole
		case kind || accepts(name):
			part.Elem().Field(i).Set(v.Field(i))
		default:
			others = append(others, i)
			rest.Elem().Field(i).Set(v.Field(i))
		}
	}
	return part.Interface().(runtime.Object), func(obj runtime.Object) {
		from := reflect.ValueOf(rest.Interface().(runtime.Object).DeepCopyObject()).Elem()
		to := reflect.ValueOf(obj).Elem()
		for _, i := range others {
			to.Field(i).Set(from.Field(i))
		}
	}
}
