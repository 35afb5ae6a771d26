package core

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestBoundClaimsGrowOnly(t *testing.T) {
	size := func(v string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(v)}
	}
	gold := "gold"
	old := &corev1.PersistentVolumeClaim{
		Spec:   corev1.PersistentVolumeClaimSpec{VolumeName: "v", Resources: corev1.VolumeResourceRequirements{Requests: size("2Gi")}},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: size("1Gi")},
	}
	const shrunk = "spec.resources.requests.storage"
	for _, c := range []struct {
		name   string
		change func(*corev1.PersistentVolumeClaim)
		want   []string
	}{
		{"grows", func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = size("3Gi") }, nil},
		{"shrinks above what it has", func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = size("1500Mi") }, nil},
		{"shrinks below", func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = size("1Gi") }, []string{shrunk}},
		{"class while bound", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = &gold }, nil},
		{"grows unbound", func(c *corev1.PersistentVolumeClaim) {
			c.Status.Phase, c.Spec.Resources.Requests = corev1.ClaimPending, size("3Gi")
		}, []string{"spec"}},
		{"other volume", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "w" }, []string{"spec"}},
	} {
		now := old.DeepCopy()
		c.change(now)
		var got []string
		for _, e := range claimKept(now, old, field.NewPath("spec")) {
			got = append(got, e.Field)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestVolumeHealth validates the health of a claim's volume, which is an alpha feature.
func TestVolumeHealth(t *testing.T) {
	good := corev1.VolumeHealthCondition{Status: corev1.VolumeHealthDegraded, Reason: "Slow"}
	var got []string
	for _, err := range validateVolumeHealth([]corev1.VolumeHealthCondition{good, good, {Status: "Bogus", Reason: "R"}, {}}, nil) {
		got = append(got, err.Field+" "+string(err.Type))
	}
	want := []string{"[1] FieldValueDuplicate", "[2].status FieldValueNotSupported", "[3].status FieldValueRequired",
		"[3].reason FieldValueRequired"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if errs := validateVolumeHealth(make([]corev1.VolumeHealthCondition, 17), nil); len(errs) != 1 {
		t.Errorf("too many conditions: %v", errs)
	}
}
