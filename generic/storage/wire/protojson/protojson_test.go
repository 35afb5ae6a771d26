package protojson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"triplane.dev/generic/storage/wire/required"
)

// decodable is a Kubernetes type with a protobuf encoding.
type decodable interface {
	unmarshaler
	Marshal() ([]byte, error)
	Reset()
}

// want returns the JSON of a decoded message.
func want(message []byte, into decodable) ([]byte, error) {
	into.Reset()
	if err := into.Unmarshal(message); err != nil {
		return nil, err
	}
	return json.Marshal(into)
}

// check compares the output for a message with want. It reports whether there was an output.
func check(t *testing.T, types *Types, message []byte, into decodable) bool {
	t.Helper()
	got, ok := types.Of(reflect.TypeOf(into).Elem(), nil).Append([]byte("before"), []byte("{"), message, "")
	if !ok {
		if string(got) != "before" {
			t.Errorf("%T: what could not be written has left %s", into, got)
		}
		return false
	}
	want, err := want(message, into)
	if err != nil {
		t.Fatalf("%T: cannot be decoded (%v), and became %s", into, err, got)
	}
	if !bytes.Equal(got, append([]byte("before"), want...)) {
		t.Fatalf("%T:\n got %s\nwant %s", into, got, want)
	}
	return true
}

func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(.3).NumElements(0, 3).MaxDepth(14).Funcs(
		func(*metav1.TypeMeta, randfill.Continue) {},
		func(m *metav1.Time, c randfill.Continue) { *m = metav1.Unix(int64(c.Intn(3))*1e8, int64(c.Intn(2))) },
		func(m *metav1.MicroTime, c randfill.Continue) {
			*m = metav1.NewMicroTime(metav1.Unix(int64(c.Intn(3))*1e8, 7000).Time)
		},
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse([]string{"0", "1", "1500m", "1024Ki", "0.5", "3e3"}[c.Intn(6)])
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = []intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(-8), intstr.FromString(""), intstr.FromString("5%<")}[c.Intn(4)]
		},
		func(f *metav1.FieldsV1, c randfill.Continue) {
			*f = metav1.FieldsV1{Raw: []byte([]string{`{}`, `{"f:a":{".":{},"k:{\"name\":\"x\"}":{}},"f:b":{}}`, `{ "f:a" : {} }`, `{"f:<":{}}`, `{"f:a":{"f:b":{}},"f:c":{}}`}[c.Intn(5)])}
		},
		func(r *runtime.RawExtension, c randfill.Continue) {
			if r.Object = nil; c.Bool() {
				r.Raw = []byte(`{"a": ["<"]}`)
			}
		},
	)
}

// The output for randomly filled objects of all kinds of client-go is that of encoding/json.
func TestAllKinds(t *testing.T) {
	types := NewTypes()
	for kind, goType := range scheme.Scheme.AllKnownTypes() {
		obj, ok := reflect.New(goType).Interface().(decodable)
		if !ok || strings.HasSuffix(kind.Kind, "Options") || kind.Version == runtime.APIVersionInternal {
			continue
		}
		if err := types.Of(goType, nil).message.wrong; err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		for seed := range int64(7) {
			obj.Reset()
			if seed > 0 {
				filler(seed).Fill(obj)
			}
			message, err := obj.Marshal()
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			if !check(t, types, message, obj) {
				t.Errorf("%s: cannot be written", kind)
			}
		}
	}
}

// Messages that the table cannot convert are left to decoders.
func TestLeftToDecoders(t *testing.T) {
	types := NewTypes()
	for name, message := range map[string]string{
		"damaged":            "\x0a\x05a",
		"message twice":      "\x0a\x00\x0a\x00",
		"wrong wire type":    "\x08\x01",
		"map not in order":   "\x12\x06\x0a\x01b\x12\x01x\x12\x06\x0a\x01a\x12\x01x",
		"key twice":          "\x12\x06\x0a\x01a\x12\x01x\x12\x06\x0a\x01a\x12\x01y",
		"map in two places":  "\x12\x03\x0a\x01a\x0a\x00\x12\x03\x0a\x01b",
		"value before key":   "\x12\x06\x12\x01x\x0a\x01a",
		"group":              "\x0b\x0c",
		"number too large":   "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00",
		"length too large":   "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"nothing behind tag": "\x0a",
	} {
		if check(t, types, []byte(message), &corev1.ConfigMap{}) {
			t.Errorf("%s: was written", name)
		}
	}
}

// The comma at the end of head is only kept if members follow.
func TestHead(t *testing.T) {
	types := NewTypes()
	for message, want := range map[string]string{"": `{"kind":"x"}`, "\x0a\x01a": `{"kind":"x","name":"a"}`} {
		got, ok := types.Of(reflect.TypeFor[corev1.LocalObjectReference](), nil).Append(nil, []byte(`{"kind":"x",`), []byte(message), "")
		if !ok || string(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The version replaces the resourceVersion of the object's own metadata only. If there is none, nothing is
// written.
func TestVersion(t *testing.T) {
	types := NewTypes()
	template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2"}}}
	message, err := template.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	template.ResourceVersion = "345"
	want, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := types.Of(reflect.TypeFor[corev1.PodTemplate](), nil).Append(nil, []byte("{"), message, "345")
	if !ok || !bytes.Equal(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	if got, ok := types.Of(reflect.TypeFor[corev1.LocalObjectReference](), nil).Append(nil, []byte("{"), nil, "345"); ok {
		t.Errorf("%s has no metadata for a version", got)
	}
}

// The metadata alone is as in the whole object.
func TestMetadata(t *testing.T) {
	types, kinds := NewTypes(), 0
	for kind, goType := range scheme.Scheme.AllKnownTypes() {
		obj, ok := reflect.New(goType).Interface().(decodable)
		if f, has := goType.FieldByName("ObjectMeta"); !ok || !has || f.Type != metadataType {
			continue
		}
		kinds++
		for seed := range int64(4) {
			obj.Reset()
			filler(seed).Fill(obj)
			message, err := obj.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			obj.Reset()
			if err := obj.Unmarshal(message); err != nil {
				t.Fatal(err)
			}
			metadata := reflect.ValueOf(obj).Elem().FieldByName("ObjectMeta").Interface().(metav1.ObjectMeta)
			metadata.ResourceVersion = "345"
			want, err := json.Marshal(metadata)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := types.Of(goType, nil).AppendMetadata([]byte("before"), message, "345")
			if !ok || string(got) != "before"+string(want) {
				t.Errorf("%s: %s\nwant %s", kind, got, want)
			}
		}
	}
	if kinds < 50 {
		t.Errorf("there are only %d kinds", kinds)
	}
	if got, ok := types.Of(reflect.TypeFor[corev1.PodList](), nil).AppendMetadata(nil, nil, "1"); ok {
		t.Errorf("a list has %s", got)
	}
}

// FuzzPod compares the output for any bytes with a decoder and an encoder.
func FuzzPod(f *testing.F) {
	types := NewTypes()
	for seed := range int64(8) {
		pod := &corev1.Pod{}
		filler(seed).Fill(pod)
		message, err := pod.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		check(t, types, message, &corev1.Pod{})
	})
}

func benchPod() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod-1", Namespace: "default", UID: "u-u-i-d", ResourceVersion: "12345",
		Labels: map[string]string{"app": "x", "tier": "y"}, CreationTimestamp: metav1.Unix(1e9, 0),
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "bench", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", Time: &metav1.Time{Time: metav1.Unix(1e9, 0).Time},
			FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:tier":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},"f:resources":{".":{},"f:requests":{".":{},"f:cpu":{}}}}}}}`)}}}}}
	for _, name := range []string{"c", "sidecar"} {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name, Image: "registry.example.com/team/image:1.2.3", ImagePullPolicy: "IfNotPresent",
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File",
			Env:       []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "C", Value: "d"}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("64Mi")}}})
	}
	pod.Spec.RestartPolicy, pod.Spec.NodeName, pod.Spec.SchedulerName = "Always", "node-1", "default-scheduler"
	return pod
}

// Messages that lack something required are not written, as required.Fields finds out by itself.
func TestRequired(t *testing.T) {
	fill := func(p *corev1.Pod) {
		if p.Spec.RestartPolicy == "" {
			p.Spec.RestartPolicy = corev1.RestartPolicyAlways
		}
		if p.Spec.SecurityContext == nil {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{}
		}
		for i := range p.Spec.Containers {
			if l := p.Spec.Containers[i].LivenessProbe; l != nil && l.PeriodSeconds == 0 {
				l.PeriodSeconds = 10
			}
		}
		for i := range p.Spec.Volumes {
			if s := p.Spec.Volumes[i].Secret; s != nil && s.DefaultMode == nil {
				s.DefaultMode = new(int32)
			}
		}
	}
	fields, types := required.Of(func() *corev1.Pod { return &corev1.Pod{} }, fill, nil), NewTypes()
	plain, whole := types.Of(reflect.TypeFor[corev1.Pod](), nil), types.Of(reflect.TypeFor[corev1.Pod](), fields)
	f, held, lacking := filler(1), 0, 0
	for i := range 400 {
		var pod corev1.Pod
		f.Fill(&pod)
		if i%4 > 0 {
			fill(&pod)
		}
		message, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		holds := fields.Holds(message, false)
		expected, can := plain.Append(nil, []byte("{"), message, "")
		got, ok := whole.Append(nil, []byte("{"), message, "")
		if ok != (can && holds) || ok && !bytes.Equal(got, expected) {
			t.Fatalf("written: %v, without what is required: %v, which it holds: %v\n%s", ok, can, holds, expected)
		}
		if holds {
			held++
		} else {
			lacking++
		}
	}
	if held < 50 || lacking < 20 {
		t.Errorf("%d hold what is required, %d do not", held, lacking)
	}
}

func BenchmarkPod(b *testing.B) {
	message, err := benchPod().Marshal()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("written", func(b *testing.B) {
		table, out := NewTypes().Of(reflect.TypeFor[corev1.Pod](), nil), []byte{}
		b.ReportAllocs()
		for b.Loop() {
			var ok bool
			if out, ok = table.Append(out[:0], []byte("{"), message, "7"); !ok {
				b.Fatal("cannot be written")
			}
		}
	})
	b.Run("decoded", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := want(message, &corev1.Pod{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestMustEscape(t *testing.T) {
	for c := range 256 {
		for length := range 18 {
			for at := range length {
				text := bytes.Repeat([]byte("~"), length)
				text[at] = byte(c)
				if mustEscape(text) != escaped[c] {
					t.Fatalf("byte %#x at %d of %d", c, at, length)
				}
			}
		}
	}
}
