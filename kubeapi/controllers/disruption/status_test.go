package disruption

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/api/registry"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

type noStorage struct{}

func (noStorage) GetRESTOptions(schema.GroupResource) (registry.RESTOptions, error) {
	return registry.RESTOptions{Prefix: "/registry"}, nil
}

// newController returns a controller that reads objects of apps/v1.
func newController(t *testing.T, objects ...runtime.Object) *controller {
	t.Helper()
	public := discovery.NewGroups()
	public.Set(&discovery.Version{GroupVersion: appsv1.SchemeGroupVersion, Resources: []metav1.APIResource{
		{Name: "replicasets", Kind: "ReplicaSet", Namespaced: true}, {Name: "deployments", Kind: "Deployment", Namespaced: true},
	}})
	resources, err := control.NewResources(public, func(schema.GroupVersion) bool { return true }, group.NewStores(), noStorage{})
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleDynamicClient(scheme, objects...)
	client.PrependReactor("get", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "scale" {
			return false, nil, nil
		}
		replicas := map[string]int64{"a": 2, "b": 3, "web": 5}[a.(clienttesting.GetAction).GetName()]
		return true, &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": replicas}}}, nil
	})
	return &controller{env: &control.Env{Resources: resources}, dynamic: client}
}

func owner(kind, name string) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: &yes}
}

func replicaSet(name string, owners ...metav1.OwnerReference) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, OwnerReferences: owners}}
}

// ReplicaSets may control each other.
func TestScaleOfControllers(t *testing.T) {
	for _, c := range []struct {
		name    string
		objects []runtime.Object
		of      metav1.OwnerReference
		uid     types.UID
		want    int32
	}{
		{"a ReplicaSet", []runtime.Object{replicaSet("a")}, owner("ReplicaSet", "a"), "uid-a", 2},
		{"a ReplicaSet of a Deployment", []runtime.Object{replicaSet("a", owner("Deployment", "web"))}, owner("ReplicaSet", "a"), "uid-web", 5},
		{"a Deployment", nil, owner("Deployment", "web"), "uid-web", 5},
		{"a ReplicaSet of itself", []runtime.Object{replicaSet("a", owner("ReplicaSet", "a"))}, owner("ReplicaSet", "a"), "uid-a", 2},
		{"a circle", []runtime.Object{replicaSet("a", owner("ReplicaSet", "b")), replicaSet("b", owner("ReplicaSet", "a"))}, owner("ReplicaSet", "a"), "uid-b", 3},
	} {
		uid, n, err := newController(t, c.objects...).scaleOf(t.Context(), "n", &c.of)
		if err != nil || uid != c.uid || n != c.want {
			t.Errorf("%s: %q, %d (%v), want %q, %d", c.name, uid, n, err, c.uid, c.want)
		}
	}
}
