package registry

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/rest"
)

// Whoever only reads an object has the same one until there is another revision; whoever may change
// it has one of their own.
func TestSharedObjects(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	ctx := inNamespace()
	if _, err := s.Create(ctx, rest.CreateRequest{Object: configMap("a"), Options: &metav1.CreateOptions{}}); err != nil {
		t.Fatal(err)
	}
	read := func(decode func(rest.Stored) (runtime.Object, error)) *corev1.ConfigMap {
		t.Helper()
		obj, err := s.Get(ctx, rest.GetRequest{Name: "a", Options: &metav1.GetOptions{}})
		if err != nil {
			t.Fatal(err)
		}
		if obj, err = decode(obj.(rest.Stored)); err != nil {
			t.Fatal(err)
		}
		return obj.(*corev1.ConfigMap)
	}
	first := read(rest.Stored.Shared)
	if read(rest.Stored.Shared) != first {
		t.Error("a revision is decoded for each reader")
	}
	own := read(rest.Stored.Decode)
	own.Data["k"] = "changed"
	if own == first || first.Data["k"] != "v" {
		t.Error("an object that may be changed is shared")
	}
	if _, _, err := s.Update(ctx, rest.UpdateRequest{Name: "a", Change: replaceWith(own), Options: &metav1.UpdateOptions{}}); err != nil {
		t.Fatal(err)
	}
	if next := read(rest.Stored.Shared); next.Data["k"] != "changed" || next.ResourceVersion == first.ResourceVersion {
		t.Errorf("after an update: %v", next)
	}
}
