package storage

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/rest"
	"triplane.dev/kubeapi/kindtest"
)

func TestStorageClass(t *testing.T) {
	c := kindtest.New(t, storageClassKind(), "provisioner: p")
	if *c.ReclaimPolicy != "Delete" || *c.VolumeBindingMode != "Immediate" {
		t.Errorf("unexpected defaults %+v", c)
	}
	kindtest.Refused(t, storageClassKind(), "reclaimPolicy: Recycle\nallowedTopologies: [{}]",
		`reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"`,
		`allowedTopologies[0].matchLabelExpressions: Duplicate value: ""`, "provisioner: Required value")
	kindtest.UpdateRefused(t, storageClassKind(), "provisioner: a", "provisioner: b\nparameters: {k: v}",
		`provisioner: Invalid value: null: field is immutable`, `parameters: Invalid value: null: field is immutable`)
}

func TestCSIDriverDefaults(t *testing.T) {
	for _, limits := range []bool{false, true} {
		if p := kindtest.New(t, csiDriverKind(limits), "metadata: {name: d}").Spec.PreventPodSchedulingIfMissing; (p != nil) != limits {
			t.Errorf("limits %v: preventPodSchedulingIfMissing is %v", limits, p)
		}
	}
	d := kindtest.New(t, csiDriverKind(false), "metadata: {name: d}").Spec
	if !*d.AttachRequired || *d.PodInfoOnMount || *d.FSGroupPolicy != "ReadWriteOnceWithFSType" || d.VolumeLifecycleModes[0] != "Persistent" {
		t.Errorf("unexpected defaults %+v", d)
	}
}

func TestVolumeAttachment(t *testing.T) {
	kindtest.UpdateRefused(t, volumeAttachmentKind(), "spec: {attacher: a, nodeName: n, source: {persistentVolumeName: p}}", "spec: {attacher: a, nodeName: m, source: {persistentVolumeName: p}}",
		`spec: Invalid value: null: field is immutable`)
}

// Empty terms are as many errors each as there are terms.
func TestTopologiesOfManyTerms(t *testing.T) {
	path := field.NewPath("allowedTopologies")
	if errs := validateTopologies(make([]corev1.TopologySelectorTerm, 2), path); len(errs) != 2+3 {
		t.Errorf("two empty terms: %v", errs)
	}
	if errs := validateTopologies(make([]corev1.TopologySelectorTerm, 100_000), path); len(errs) != rest.MaxCauses {
		t.Errorf("%d errors", len(errs))
	}
}

// TestBackends validates the health that drivers report, which is an alpha feature.
func TestBackends(t *testing.T) {
	wrong := storagev1.StorageHealthCondition{Status: "Bogus", Reason: "a b", Message: strings.Repeat("m", 1025)}
	n := &storagev1.CSINode{Status: storagev1.CSINodeStatus{StorageHealth: []storagev1.StorageHealth{
		{Name: "d", HealthConditions: []storagev1.StorageHealthCondition{{Status: storagev1.StorageDegraded, Reason: "Slow"}}},
		{Name: "d", HealthConditions: []storagev1.StorageHealthCondition{wrong, {Status: storagev1.StorageDegraded}}},
		{HealthConditions: make([]storagev1.StorageHealthCondition, 17)},
	}}}
	var got []string
	for _, err := range validateBackends(n) {
		got = append(got, strings.TrimPrefix(err.Field, "status.storageHealth")+" "+string(err.Type))
	}
	want := []string{
		"[1] FieldValueDuplicate", "[1].healthConditions[0].status FieldValueNotSupported",
		"[1].healthConditions[0].reason FieldValueInvalid", "[1].healthConditions[0].message FieldValueTooLong",
		"[1].healthConditions[1].reason FieldValueRequired",
		"[2].name FieldValueRequired", "[2].healthConditions FieldValueTooMany",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
