package kind

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The chains of a process share the columns and encodings of a resource, but not the functions that read other objects.
func TestSharedDefinitions(t *testing.T) {
	scheme, opts := runtime.NewScheme(), StorageOptions{Types: NewTypes()}
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	define := func(resource, label string) (*Kind[*appsv1.Deployment], Form[*appsv1.Deployment]) {
		k := deploymentKind()
		k.Write.Prepare = func(_ context.Context, obj, _ *appsv1.Deployment) {
			metav1.SetMetaDataLabel(&obj.ObjectMeta, label, "")
		}
		opts.Resource = schema.GroupResource{Group: "apps", Resource: resource}
		defined, form, err := k.Define(scheme, opts)
		if err != nil {
			t.Fatal(err)
		}
		return defined, form
	}
	_, first := define("deployments", "first")
	k, second := define("deployments", "second")
	if _, other := define("others", "other"); first != second || first == other {
		t.Error("the form is not that of the resource")
	}
	d := objectBy("client")
	k.Prepare(t.Context(), nil, d, nil)
	if _, ok := d.Labels["second"]; !ok || d.Generation != 1 {
		t.Errorf("labels %v, generation %d", d.Labels, d.Generation)
	}
}
