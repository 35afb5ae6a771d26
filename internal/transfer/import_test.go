package transfer

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// The status is updated on the current object after a conflict.
func TestStatusIsWrittenAfterConflicts(t *testing.T) {
	r := schema.GroupVersionResource{Version: "v1", Resource: "things"}
	thing := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "a", "resourceVersion": "1"}}}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{r: "ThingList"}, thing)
	conflicts := 2
	client.PrependReactor("update", "things", func(clienttesting.Action) (bool, runtime.Object, error) {
		if conflicts--; conflicts < 0 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(r.GroupResource(), "a", errors.New("it was modified"))
	})
	if err := setStatus(t.Context(), client.Resource(r), thing.DeepCopy(), map[string]any{"phase": "Done"}); err != nil || conflicts >= 0 {
		t.Errorf("%v, %d conflicts are left", err, conflicts)
	}
}
