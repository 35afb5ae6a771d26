package endpointslice

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/storage/wire"
	"triplane.dev/kubeapi/controllers/control"
)

// stored returns an object of the feed.
func stored(t *testing.T, resource schema.GroupResource, kind string, o metav1.Object) *control.Object {
	t.Helper()
	value, err := wire.AppendProtobuf(nil, corev1.SchemeGroupVersion.WithKind(kind), o)
	if err != nil {
		t.Fatal(err)
	}
	return &control.Object{Resource: resource, Namespace: o.GetNamespace(), Name: o.GetName(), Value: value}
}

// Deletions that the feed has missed are handled when all objects have been read again.
func TestMissedDeletionsAreForgotten(t *testing.T) {
	synced := make(chan control.Key, 10)
	c := &serviceController{
		keeper:    keeper{env: &control.Env{}},
		keyPrefix: func(r schema.GroupResource) string { return "/registry/" + r.Resource + "/" },
		selectors: map[string]map[string]labels.Selector{}, selecting: map[control.Key][]string{}, zones: map[string]string{},
	}
	c.queue = control.NewQueue(&control.Env{Metrics: control.NewMetrics(nil)}, "test", 1, func(_ context.Context, key control.Key) error {
		synced <- key
		return nil
	})
	meta := func(name string, with map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "n", Name: name, Labels: with}
	}
	app := map[string]string{"app": "web"}
	c.serviceChanged(stored(t, corev1.Resource("services"), "Service", &corev1.Service{ObjectMeta: meta("web", nil), Spec: corev1.ServiceSpec{Selector: app}}))
	c.podChanged(stored(t, corev1.Resource("pods"), "Pod", &corev1.Pod{ObjectMeta: meta("stays", app)}))
	c.podChanged(stored(t, corev1.Resource("pods"), "Pod", &corev1.Pod{ObjectMeta: meta("goes", app)}))
	c.nodeChanged(stored(t, corev1.Resource("nodes"), "Node", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "goes", Labels: map[string]string{corev1.LabelTopologyZone: "a"}}}))
	if len(c.selecting) != 2 || len(c.zones) != 1 || len(c.selectors["n"]) != 1 {
		t.Fatalf("%v, %v, %v", c.selecting, c.zones, c.selectors)
	}

	c.listed(corev1.Resource("pods"), 1, func(key string) bool { return key == "/registry/pods/n/stays" })
	c.listed(corev1.Resource("nodes"), 1, func(string) bool { return false })
	c.listed(corev1.Resource("services"), 1, func(key string) bool { return key == "/registry/services/n/web" })
	if _, stays := c.selecting[control.Key{Namespace: "n", Name: "stays"}]; !stays || len(c.selecting) != 1 || len(c.zones) != 0 || len(c.selectors["n"]) != 1 {
		t.Errorf("%v, %v, %v", c.selecting, c.zones, c.selectors)
	}
	c.listed(corev1.Resource("services"), 2, func(string) bool { return false })
	if len(c.selectors) != 0 {
		t.Errorf("%v", c.selectors)
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { c.queue.Run(ctx); close(ended) }()
	if key := <-synced; key != (control.Key{Namespace: "n", Name: "web"}) {
		t.Errorf("looked at %v", key)
	}
	cancel()
	<-ended
}
