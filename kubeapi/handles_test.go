package kubeapi_test

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Each handle has the resource and the Go type of a declared kind.
func TestHandlesFitTheirKinds(t *testing.T) {
	all := stored(t)
	stores := reflect.ValueOf(all)
	handles := 0
	for i := range stores.NumMethod() {
		method := stores.Type().Method(i)
		if method.Type.NumIn() != 1 || !strings.HasPrefix(method.Type.Out(0).Name(), "Handle[") {
			continue
		}
		handles++
		handle := stores.Method(i).Call(nil)[0]
		get, _ := handle.Type().MethodByName("Get")
		gr, _ := handle.MethodByName("Resource").Call(nil)[0].Interface().(schema.GroupResource)
		if r := all.Store(gr); r == nil || reflect.TypeOf(r.Resource().New()) != get.Type.Out(0) {
			t.Errorf("%s: no kind of %v stores %s", method.Name, gr, handle.Type())
		}
	}
	if handles < 30 {
		t.Errorf("found %d handles", handles)
	}
}
