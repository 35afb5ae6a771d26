package server

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
)

type noStorage struct{}

func (noStorage) GetRESTOptions(schema.GroupResource) (registry.RESTOptions, error) {
	return registry.RESTOptions{}, errors.New("there is none")
}

func TestGroupBuilder(t *testing.T) {
	v1, v2 := schema.GroupVersion{Group: "g", Version: "v1"}, schema.GroupVersion{Group: "g", Version: "v2"}
	b := NewGroupBuilder(APIGroupInfo{PrioritizedVersions: []schema.GroupVersion{v2, v1}, Scheme: runtime.NewScheme()}, noStorage{})
	k := &kind.Kind[*corev1.ConfigMap]{Hub: v1.WithKind("ConfigMap"), Names: kind.Names{Plural: "configmaps"}}
	if _, err := AddKind(b, k, b.Versions()); err == nil || b.Get("v1", "configmaps") != nil {
		t.Errorf("a kind without a place to store its objects is served: %v", err)
	}
	b.Put("v1", "greetings", &rest.Resource{})
	if b.Get("v1", "greetings") == nil || b.Get("v2", "greetings") != nil {
		t.Error("a resource is served in v1 and nowhere else")
	}
	if got := b.Info().PrioritizedVersions; !slices.Equal(got, []schema.GroupVersion{v1}) {
		t.Errorf("versions with resources: %v, want v1", got)
	}
	if len(b.Versions()) != 2 {
		t.Error("a version of which nothing is served is still one of the group")
	}
}
