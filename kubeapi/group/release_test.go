package group

import (
	"testing"

	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
)

func TestLifecycles(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{networkingv1beta1.AddToScheme, schedulingv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	address := networkingv1beta1.SchemeGroupVersion.WithKind("IPAddress") // from 1.31 to 1.36
	for _, c := range []struct {
		release    string
		kept, want bool
	}{{"1.30", true, false}, {"1.31", false, true}, {"1.36", false, true}, {"1.37", false, false}, {"1.37", true, true},
		{"1.38", true, false}} {
		if got := has(version.MustParse(c.release), c.kept, scheme, address); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	if !has(nil, false, scheme, address) {
		t.Error("without a release")
	}
	release := version.MustParse("1.36")
	if !ComesAfter(release, scheme, schedulingv1beta1.SchemeGroupVersion) {
		t.Error("scheduling.k8s.io/v1beta1 came with 1.37")
	}
	if ComesAfter(version.MustParse("1.37"), scheme, networkingv1beta1.SchemeGroupVersion) {
		t.Error("what was removed came before")
	}
}
