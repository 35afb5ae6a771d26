package kubeapi_test

import (
	"reflect"
	"strings"
	"testing"
)

// Each handle has the resource and the Go type of a declared kind.
func TestHandlesFitTheirKinds(t *testing.T) {
	stores := reflect.ValueOf(stored(t))
	handles := 0
	for i := range stores.NumMethod() {
		method := stores.Type().Method(i)
		if method.Type.NumIn() != 1 || !strings.HasPrefix(method.Type.Out(0).Name(), "Handle[") {
			continue
		}
		handles++
		if handle := stores.Method(i).Call(nil)[0]; handle.MethodByName("Store").Call(nil)[0].IsNil() {
			t.Errorf("%s: no kind of %v stores %s", method.Name, handle.MethodByName("Resource").Call(nil)[0], handle.Type())
		}
	}
	if handles < 30 {
		t.Errorf("found %d handles", handles)
	}
}
