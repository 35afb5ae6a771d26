package group

import (
	"slices"
	"testing"

	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

func TestReleases(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{resourcev1.AddToScheme, resourcev1beta2.AddToScheme, resourcev1beta1.AddToScheme,
		resourcev1alpha3.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	const kind, resource = "DeviceTaintRule", "devicetaintrules" // alpha since 1.33, beta since 1.36, and v1 since 1.37
	versions := []schema.GroupVersion{resourcev1.SchemeGroupVersion, resourcev1beta2.SchemeGroupVersion,
		resourcev1beta1.SchemeGroupVersion, resourcev1alpha3.SchemeGroupVersion}
	kinds := []schema.GroupVersionKind{versions[0].WithKind(kind), versions[1].WithKind(kind), versions[3].WithKind(kind)}
	for _, c := range []struct {
		release string
		alpha   bool
		served  []string
		stored  string
	}{
		{"1.37", true, []string{"v1", "v1beta2", "v1alpha3"}, "v1beta2"},
		{"1.36", true, []string{"v1", "v1beta2", "v1alpha3"}, "v1beta2"},
		{"1.35", true, []string{"v1alpha3"}, "v1alpha3"},
		{"1.35", false, nil, "v1alpha3"},
	} {
		release := version.MustParse(c.release)
		d := &Deps{Scheme: scheme, Release: Release{Emulated: release, MinCompatibility: release.SubtractMinor(1), ForwardCompatible: true}}
		d.Serves = func(gv schema.GroupVersion, _ string) bool { return c.alpha || gv.Version != "v1alpha3" }
		var served []string
		for _, gv := range d.available(versions, resource, kind) {
			served = append(served, gv.Version)
		}
		if stored := d.storageVersion(kinds).Version; !slices.Equal(served, c.served) || stored != c.stored {
			t.Errorf("%s: served %q, stored as %s, want %+v", c.release, served, stored, c)
		}
	}
}
