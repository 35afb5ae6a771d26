package handlers

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/rest"
)

func TestVersionsThatAreServed(t *testing.T) {
	two := &rest.Resource{Versions: []schema.GroupVersion{{Group: "g", Version: "v1"}, {Group: "g", Version: "v1beta1"}}}
	stable := func(gv schema.GroupVersion) bool { return gv.Version == "v1" }
	if got := VersionsOf(two, stable).Served(); !slices.Equal(got, two.Versions[:1]) {
		t.Errorf("%v", got)
	}
	if got := VersionsOf(two, nil).Served(); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if got := VersionsOf(&rest.Resource{Versions: two.Versions[:1]}, nil); got != nil {
		t.Errorf("a single version: %v", got)
	}
}
