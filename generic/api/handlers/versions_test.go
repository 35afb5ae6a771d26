package handlers

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/api/rest"
)

// twoVersions is a storage with codecs of two versions.
type twoVersions struct{ rest.CodecProvider }

func (twoVersions) New() runtime.Object { return nil }

func (twoVersions) ServedVersions() []schema.GroupVersion {
	return []schema.GroupVersion{{Group: "g", Version: "v1"}, {Group: "g", Version: "v1beta1"}}
}

func TestVersionsThatAreServed(t *testing.T) {
	stable := func(gv schema.GroupVersion) bool { return gv.Version == "v1" }
	if got := VersionsOf(twoVersions{}, stable).Served(); !slices.Equal(got, []schema.GroupVersion{{Group: "g", Version: "v1"}}) {
		t.Errorf("%v", got)
	}
	if got := VersionsOf(twoVersions{}, nil).Served(); len(got) != 2 {
		t.Errorf("%v", got)
	}
}
