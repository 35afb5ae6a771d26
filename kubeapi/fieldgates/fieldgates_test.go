package fieldgates

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

func off(gates ...string) *Set {
	return New(func(gate string) bool {
		for _, g := range gates {
			if g == gate {
				return false
			}
		}
		return true
	})
}

// deployment is one whose pods use some features.
func deployment() *appsv1.Deployment {
	return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		HostnameOverride: ptr.To("h"),
		Containers: []corev1.Container{{
			Lifecycle:    &corev1.Lifecycle{StopSignal: ptr.To(corev1.Signal("SIGUSR1"))},
			VolumeMounts: []corev1.VolumeMount{{Name: "i"}, {Name: "e"}},
		}},
		Volumes: []corev1.Volume{
			{Name: "i", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{}}}, {Name: "e"},
		},
	}}}}
}

func TestDrop(t *testing.T) {
	plain := &appsv1.Deployment{}
	for _, c := range []struct {
		name string
		set  *Set
		old  *appsv1.Deployment // nil creates
		// what is kept
		hostname, signal, image bool
	}{
		{"all on", off(), nil, true, true, true},
		{"nil", nil, nil, true, true, true},
		{"one off", off("HostnameOverride"), nil, false, true, true},
		{"all off", off("HostnameOverride", "ContainerStopSignals", "ImageVolume"), nil, false, false, false},
		{"not used before", off("HostnameOverride", "ImageVolume"), plain, false, true, false},
		{"used before", off("HostnameOverride", "ContainerStopSignals", "ImageVolume"), deployment(), true, true, true},
	} {
		d := deployment()
		var old any
		if c.old != nil {
			old = c.old
		}
		c.set.Drop(d, old)
		s := &d.Spec.Template.Spec
		if got := s.HostnameOverride != nil; got != c.hostname {
			t.Errorf("%s: hostnameOverride is kept: %t", c.name, got)
		}
		if got := s.Containers[0].Lifecycle != nil; got != c.signal {
			t.Errorf("%s: the stop signal is kept: %t", c.name, got)
		}
		if got := len(s.Volumes) == 2 && len(s.Containers[0].VolumeMounts) == 2; got != c.image {
			t.Errorf("%s: the image volume is kept: %t", c.name, got)
		}
	}
}

// TestDropInMaps drops fields of values that are in maps.
func TestDropInMaps(t *testing.T) {
	s := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Devices: []resourcev1.Device{{
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"list": {IntValues: []int64{1}}, "int": {IntValue: ptr.To(int64(1))},
		},
		Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"m": {RequestPolicy: &resourcev1.CapacityRequestPolicy{}}},
		AllNodes: ptr.To(true),
	}}}}
	off("DRAListTypeAttributes", "DRAConsumableCapacity").Drop(s, nil)
	d := &s.Spec.Devices[0]
	if d.Attributes["list"].IntValues != nil || d.Attributes["int"].IntValue == nil || d.Capacity["m"].RequestPolicy != nil || d.AllNodes == nil {
		t.Errorf("%+v", d)
	}
}

// TestNothingToDrop finds no ways where nothing is off.
func TestNothingToDrop(t *testing.T) {
	if p := off().plan(reflect.TypeFor[*corev1.Pod]()); p != nil {
		t.Errorf("%+v", p)
	}
	if p := off("MaxUnavailableStatefulSet").plan(reflect.TypeFor[*corev1.Pod]()); p != nil {
		t.Errorf("%+v", p)
	}
}

func BenchmarkDrop(b *testing.B) {
	s := off("ContainerStopSignals", "ClusterTrustBundleProjection", "PodCertificateRequest", "GenericWorkload")
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 2), Volumes: make([]corev1.Volume, 3)}}
	for b.Loop() {
		s.Drop(p, nil)
	}
}

// What the claim templates of a StatefulSet say belongs to the claims that are made of them.
func TestRulesOfWholeObjects(t *testing.T) {
	claim := corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
		DataSourceRef: &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "a", Namespace: ptr.To("b")}}}
	claim.Status.HealthStatus = &corev1.VolumeHealthStatus{}
	alone, set := claim.DeepCopy(), &appsv1.StatefulSet{}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*claim.DeepCopy()}
	rules := off("CrossNamespaceVolumeDataSource", "CSIVolumeHealth")
	rules.Drop(alone, nil)
	rules.Drop(set, nil)
	if alone.Status.HealthStatus != nil || set.Spec.VolumeClaimTemplates[0].Status.HealthStatus == nil {
		t.Errorf("the health of a claim is %v, of a template %v", alone.Status.HealthStatus,
			set.Spec.VolumeClaimTemplates[0].Status.HealthStatus)
	}
	if alone.Spec.DataSourceRef != nil || set.Spec.VolumeClaimTemplates[0].Spec.DataSourceRef == nil {
		t.Errorf("a claim has %v, a template %v", alone.Spec.DataSourceRef, set.Spec.VolumeClaimTemplates[0].Spec.DataSourceRef)
	}
}
