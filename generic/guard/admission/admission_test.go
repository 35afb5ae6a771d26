package admission

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/base/metrics"
)

var kind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// codec has one version, of Go types or of custom resources.
type codec struct{ custom bool }

func (codec) Kind() schema.GroupVersionKind { return kind }
func (c codec) New() runtime.Object {
	if c.custom {
		return &unstructured.Unstructured{}
	}
	return &corev1.ConfigMap{}
}
func (codec) Default(obj runtime.Object) {
	if m, ok := obj.(*corev1.ConfigMap); ok && m.Data["default"] == "" {
		m.Data = map[string]string{"k": m.Data["k"], "default": "yes"}
	}
}
func (codec) ToHub(obj runtime.Object) (runtime.Object, error)   { return obj, nil }
func (codec) FromHub(obj runtime.Object) (runtime.Object, error) { return obj, nil }

func TestBecome(t *testing.T) {
	typed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v", "default": "yes"}}
	custom := &unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "metadata": map[string]any{"name": "a"}}}
	for name, c := range map[string]struct {
		object  runtime.Object
		codec   codec
		text    string
		changed bool
		err     string
	}{
		"the same":             {typed, codec{}, `{"kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v","default":"yes"}}`, false, ""},
		"the same by default":  {typed, codec{}, `{"metadata":{"name":"a"},"data":{"k":"v"}}`, false, ""},
		"another":              {typed, codec{}, `{"metadata":{"name":"a"},"data":{"k":"w"}}`, true, ""},
		"nothing like it":      {typed, codec{}, `{"data":[]}`, false, "cannot unmarshal array"},
		"the same custom one":  {custom, codec{true}, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`, false, ""},
		"another custom one":   {custom, codec{true}, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"b"}}`, true, ""},
		"a custom one of none": {custom, codec{true}, `{}`, false, "Object 'Kind' is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			held := c.object.DeepCopyObject()
			a := &Attributes{Object: held}
			changed, err := a.Become(c.codec, held, []byte(c.text))
			if changed != c.changed || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("%v, %v", changed, err)
			}
			if a.Object != held {
				t.Error("whoever holds the object does not see the change")
			}
		})
	}
}

// A version may lack fields of the object.
func TestUnchangedVersionChangesNothing(t *testing.T) {
	a := &Attributes{Object: &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		Data: map[string]string{"k": "v", "default": "yes", "hidden": "x"}}}
	shown := &corev1.ConfigMap{Data: map[string]string{"k": "v", "default": "yes"}}
	shown.CreationTimestamp = metav1.Unix(1, 1)
	changed, err := a.Become(codec{}, shown,
		[]byte(`{"metadata":{"creationTimestamp":"1970-01-01T00:00:01Z"},"data":{"k":"v"},"unknown":1}`))
	if err != nil || changed || a.Object.(*corev1.ConfigMap).Data["hidden"] != "x" {
		t.Errorf("%v, %v, %v", changed, err, a.Object)
	}
}

func TestDocument(t *testing.T) {
	for want, obj := range map[string]runtime.Object{
		`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		`{"kind":"Other","metadata":{}}`:                                 &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{Kind: "Other"}},
	} {
		text, err := Document(obj, kind)
		if err != nil || string(text) != want {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
	}
}

// asking is a plugin that calls Reinvoke up to limit times.
type asking struct{ limit, seen int }

func (*asking) Handles(Operation) bool { return true }
func (p *asking) Admit(_ context.Context, a *Attributes) error {
	p.seen++
	if n, _ := a.Recall(p).(int); n < p.limit {
		a.Remember(p, n+1)
		a.Reinvoke()
	}
	return nil
}

func TestRounds(t *testing.T) {
	for _, c := range []struct{ limit, want int }{{0, 1}, {1, 2}, {5, 2}} {
		p := &asking{limit: c.limit}
		if err := NewChain(nil, Named{"p", p}).Admit(t.Context(), &Attributes{}); err != nil || p.seen != c.want {
			t.Errorf("limit %d: %d rounds, %v", c.limit, p.seen, err)
		}
	}
}

func TestNewForbidden(t *testing.T) {
	a := &Attributes{Resource: schema.GroupVersionResource{Resource: "pods"}, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}}
	evicted := &Attributes{Resource: a.Resource, Subresource: "eviction", Name: "x", Object: a.Object}
	if err := NewForbidden(evicted, errors.New("why")); err.Error() != `pods "x" is forbidden: why` {
		t.Error(err)
	}
	if err := NewForbidden(a, errors.New("why")); err.Error() != `pods "a-" is forbidden: why` {
		t.Error(err)
	}
	a.Object = &corev1.Pod{}
	if err := NewForbidden(a, errors.New("why")); err.Error() != `pods "Unknown" is forbidden: why` {
		t.Error(err)
	}
	status := apierrors.NewGone("gone")
	if err := NewForbidden(a, status); !errors.Is(err, status) {
		t.Error(err)
	}
}

// handled is a plugin that does nothing.
type handled struct{}

func (handled) Handles(Operation) bool                      { return true }
func (handled) Admit(context.Context, *Attributes) error    { return nil }
func (handled) Validate(context.Context, *Attributes) error { return nil }

func TestChainCounts(t *testing.T) {
	m := metrics.New()
	refusing := NewChain(NewMetrics(m), Named{"a", handled{}}, Named{"b", refuses{}}, Named{"c", handled{}})
	if err := refusing.Validate(t.Context(), &Attributes{Operation: Update}); err == nil || err.Error() != "no" {
		t.Error(err)
	}
	families, err := m.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]uint64{}
	for _, f := range families {
		for _, series := range f.GetMetric() {
			key := f.GetName()
			for _, l := range series.GetLabel() {
				key += " " + l.GetValue()
			}
			counts[key] = series.GetHistogram().GetSampleCount()
		}
	}
	for key, want := range map[string]uint64{
		"apiserver_admission_controller_admission_duration_seconds a UPDATE false validate": 1,
		"apiserver_admission_controller_admission_duration_seconds b UPDATE true validate":  1,
		"apiserver_admission_controller_admission_duration_seconds c UPDATE false validate": 0,
		"apiserver_admission_step_admission_duration_seconds UPDATE true validate":          1,
	} {
		if counts[key] != want {
			t.Errorf("%s: %d, want %d", key, counts[key], want)
		}
	}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if err := refusing.Validate(ctx, &Attributes{Operation: Update}); !apierrors.IsTimeout(err) {
		t.Errorf("after the deadline: %v", err)
	}
}

type refuses struct{ handled }

func (refuses) Validate(context.Context, *Attributes) error { return errors.New("no") }

func BenchmarkChain(b *testing.B) {
	var plugins []Named
	for range 20 {
		plugins = append(plugins, Named{"p", handled{}})
	}
	chain, a := NewChain(NewMetrics(metrics.New()), plugins...), &Attributes{Operation: Create}
	b.ReportAllocs()
	for b.Loop() {
		if err := chain.Admit(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}
