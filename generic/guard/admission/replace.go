package admission

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Replace replaces the content of the object, in place, by that of obj, which has the hub version.
func (a *Attributes) Replace(obj runtime.Object) error {
	if a.Object == obj {
		return nil
	}
	if to, ok := a.Object.(runtime.Unstructured); ok {
		from, ok := obj.(runtime.Unstructured)
		if !ok {
			return fmt.Errorf("admission: %T cannot become %T", a.Object, obj)
		}
		to.SetUnstructuredContent(from.UnstructuredContent())
		return nil
	}
	to, from := reflect.ValueOf(a.Object), reflect.ValueOf(obj)
	if to.Kind() != reflect.Pointer || to.Type() != from.Type() || to.IsNil() || from.IsNil() {
		return fmt.Errorf("admission: %T cannot become %T", a.Object, obj)
	}
	to.Elem().Set(from.Elem())
	return nil
}
