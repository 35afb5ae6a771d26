package kubeapi

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestSettingsMayNameRemovedVersions(t *testing.T) {
	for gv, want := range map[schema.GroupVersion]bool{
		{Version: "v1"}: true, {Group: "policy", Version: "v1beta1"}: true,
		{Group: "extensions", Version: "v1beta1"}: true, {Group: "apps", Version: "v9"}: false,
		{Group: "apiregistration.k8s.io", Version: "v1beta1"}: true,
	} {
		if KnowsVersion(gv) != want {
			t.Errorf("%v: %t", gv, !want)
		}
	}
	if !KnowsGroup("extensions") || KnowsGroup("nosuch") {
		t.Error("groups")
	}
}
