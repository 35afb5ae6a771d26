package kubeapi_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"triplane.dev/generic/run/storageoptions"
	"triplane.dev/generic/serve/server"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/memory"
	"triplane.dev/kubeapi/group"
)

// What selectors and answers read of the bytes of an object is what a decoder reads, of all
// kinds.
func TestReadsOfBytes(t *testing.T) {
	checked := 0
	for gr, store := range stored(t).All() {
		reads, ok := store.(interface {
			CheckReads(fill func(runtime.Object)) error
		})
		if !ok {
			continue
		}
		checked++
		if err := reads.CheckReads(asOthersStore); err != nil {
			t.Errorf("an empty object of %s: %v", gr, err)
		}
		for seed := range int64(10) {
			if err := reads.CheckReads(func(obj runtime.Object) { filler(seed).Fill(obj); asOthersStore(obj) }); err != nil {
				t.Errorf("%s: %v", gr, err)
				break
			}
		}
	}
	if checked < 40 {
		t.Errorf("%d kinds", checked)
	}
}

// asOthersStore removes from an object what no server stores.
func asOthersStore(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Secret:
		o.StringData = nil
	case *corev1.Node:
		o.Spec.PodCIDR, o.Spec.PodCIDRs = "10.0.0.0/24", []string{"10.0.0.0/24"}
	case *corev1.Service:
		for i := range o.Spec.Ports {
			o.Spec.Ports[i].TargetPort = intstr.FromInt32(80)
		}
	}
}

// stored is the storage of all kinds, in memory.
func stored(t *testing.T) *group.Stores {
	t.Helper()
	backend := memory.New()
	config := server.NewConfig()
	config.RESTOptionsGetter = storageoptions.NewEtcd().RESTOptionsGetter(storageoptions.Stores{Default: storageoptions.Store{Backend: backend, Multiplexer: cache.NewMultiplexer(backend, "/registry")}})
	core := coreConfig(t, config, enabled)
	if _, err := core.Complete().New(server.EmptyDelegate()); err != nil {
		t.Fatal(err)
	}
	return core.Groups.Stores
}

func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(.3).NumElements(1, 3).MaxDepth(14).Funcs(
		func(*metav1.TypeMeta, randfill.Continue) {},
		func(m *metav1.Time, c randfill.Continue) { *m = metav1.Unix(int64(c.Intn(3)), 0) },
		func(m *metav1.MicroTime, c randfill.Continue) {
			*m = metav1.NewMicroTime(metav1.Unix(int64(c.Intn(3)), 7000).Time)
		},
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse([]string{"0", "1", "1500m", "1024Ki", "0.5", "3e3"}[c.Intn(6)])
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = []intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(-8), intstr.FromString(""), intstr.FromString("5%<")}[c.Intn(4)]
		},
		func(f *metav1.FieldsV1, _ randfill.Continue) { f.Raw = []byte(`{"f:a":{}}`) },
		func(r *runtime.RawExtension, _ randfill.Continue) { r.Object, r.Raw = nil, []byte(`{"a": ["<"]}`) },
	)
}
