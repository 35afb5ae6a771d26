package apiextensions

import (
	"fmt"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// listed is an established CRD with one version.
func listed(plural, group, version string, generation int64) definitionObject {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group, Generation: generation},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: version, Served: true}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
		}},
	}
}

func TestCatalogue(t *testing.T) {
	c := newCatalogue()
	var changes []string
	c.listeners = append(c.listeners, func(old, now *entry) {
		what := fmt.Sprint(old != nil, now != nil)
		if old != nil && now != nil {
			what += fmt.Sprint(" same ", old.generation == now.generation)
		}
		changes = append(changes, what)
	})
	serving := func(group, version string) (names []string) {
		for res := range c.serving(schema.GroupVersion{Group: group, Version: version}) {
			names = append(names, res.crd.Name)
		}
		return names
	}

	c.set(listed("bs", "x.io", "v1", 1), nil)
	c.set(listed("as", "x.io", "v1", 1), nil)
	c.set(listed("as", "y.io", "v1", 1), nil)
	if got := serving("x.io", "v1"); !slices.Equal(got, []string{"as.x.io", "bs.x.io"}) {
		t.Errorf("x.io/v1 has %v", got)
	}
	before := c.group("x.io")
	c.set(listed("as", "x.io", "v1", 1), nil) // only its status
	c.set(listed("as", "x.io", "v2", 2), nil)
	if got := serving("x.io", "v1"); !slices.Equal(got, []string{"bs.x.io"}) {
		t.Errorf("x.io/v1 has %v", got)
	}
	if res, _ := before.Get("as"); res.crd.Generation != 1 {
		t.Error("what a reader holds has changed")
	}
	c.Remove("as.x.io")
	c.Remove("bs.x.io")
	c.Remove("bs.x.io")
	if c.group("x.io") != nil || c.Get("as.x.io") != nil || c.Get("as.y.io") == nil {
		t.Error("the wrong CRDs are gone")
	}
	want := []string{"false true", "false true", "false true", "true true same true", "true true same false", "true false", "true false"}
	if !slices.Equal(changes, want) {
		t.Errorf("changes %q", changes)
	}
}
