package handlers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"

	"triplane.dev/generic/api/codec"
	"triplane.dev/generic/api/handlers/fieldmanager"
	"triplane.dev/generic/api/managedfields"
	"triplane.dev/generic/api/rest"
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// podFields keeps the managed fields of pods, whose lists have keys.
func podFields(f *testing.F) *managedfields.Manager {
	f.Helper()
	codec, err := codec.New(clientscheme.Scheme, podKind, codec.Options{})
	if err != nil {
		f.Fatal(err)
	}
	m, err := fieldmanager.New(fieldmanager.Options{
		Kind: podKind, Hub: corev1.SchemeGroupVersion, Types: typeConverter,
		Codecs: func(schema.GroupVersion) (rest.Codec, error) { return codec, nil },
	})
	if err != nil {
		f.Fatal(err)
	}
	return m
}

var podBodies = []string{
	`apiVersion: v1
kind: Pod
metadata: {name: a, labels: {x: y}, finalizers: [e.com/a]}
spec: {containers: [{name: c, image: i, ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}]}]}
`,
	`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","env":[{"name":"E","value":"v"}]},{"name":"d"}],"tolerations":[{"key":"k"}]}}`,
	`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c"},{"name":"c"}]}}`,
	`{"apiVersion":"v1","kind":"Pod","metadata":null,"spec":{"containers":null,"volumes":[{"name":"v","emptyDir":{}}]}}`,
	`{"apiVersion":"v1","kind":"Pod","spec":{"containers":{"name":"c"},"overhead":{"cpu":1e400}}}`,
	`{"apiVersion":"v2","kind":"Pods"}`, `[]`, `null`, `"x"`,
}

// Whatever two managers apply, nothing panics, and what was applied once can be
// applied again without a change.
func FuzzApply(f *testing.F) {
	for _, a := range podBodies {
		for _, b := range podBodies[:3] {
			f.Add([]byte(a), []byte(b), true)
			f.Add([]byte(b), []byte(a), false)
		}
	}
	fields := podFields(f)
	f.Fuzz(func(t *testing.T, first, second []byte, force bool) {
		var obj runtime.Object = &corev1.Pod{}
		obj.GetObjectKind().SetGroupVersionKind(podKind)
		for i, body := range [][]byte{first, second} {
			config, err := decodeApply(body)
			if err != nil {
				config, err = decodeApplyCBOR(body)
			}
			if err != nil {
				return
			}
			manager := string(rune('a' + i))
			applied, err := fields.Apply(t.Context(), obj.DeepCopyObject(), config.DeepCopy(), manager, force)
			if err != nil {
				return
			}
			again, err := fields.Apply(t.Context(), applied.DeepCopyObject(), config, manager, false)
			if err != nil {
				t.Fatalf("applied again: %v\n%s", err, body)
			}
			if forgetTimes(t, again); !equality.Semantic.DeepEqual(forgetTimes(t, applied.DeepCopyObject()), again) {
				t.Fatalf("applied again it became\n%+v\nbut was\n%+v", again, applied)
			}
			obj = applied
		}
	})
}

func forgetTimes(t *testing.T, obj runtime.Object) runtime.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		t.Fatal(err)
	}
	entries := m.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	m.SetManagedFields(entries)
	return obj
}

// No strategic merge patch of an object whose lists have keys may end in a panic.
func FuzzStrategicMerge(f *testing.F) {
	for _, patch := range []string{
		`{"spec":{"containers":[{"name":"c","$patch":"delete"}]}}`, `{"spec":{"$setElementOrder/containers":[{"name":"d"},{"name":"c"}],"containers":[{"name":"d"}]}}`,
		`{"spec":{"$retainKeys":["volumes"],"volumes":[{"name":"v","$retainKeys":["name","emptyDir"],"emptyDir":{}}]}}`,
		`{"metadata":{"$deleteFromPrimitiveList/finalizers":["e.com/a"]}}`, `{"spec":{"containers":[{"$patch":"replace"}]}}`, `{"$patch":1}`,
		`{"spec":{"containers":[{"ports":[{"containerPort":80,"$patch":"merge"}],"name":"c"},null,1]}}`,
	} {
		f.Add([]byte(podBodies[1]), []byte(patch), true)
	}
	f.Fuzz(func(_ *testing.T, doc, patch []byte, strict bool) {
		var before, change map[string]any
		if kjson.UnmarshalCaseSensitivePreserveInts(doc, &before) != nil || kjson.UnmarshalCaseSensitivePreserveInts(patch, &change) != nil {
			return
		}
		var pod corev1.Pod
		if runtime.DefaultUnstructuredConverter.FromUnstructured(before, &pod) != nil {
			return // nothing that is stored looks like this
		}
		after, err := mergeMaps(before, change, &corev1.Pod{})
		if err != nil {
			return
		}
		_ = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(after, &pod, strict)
	})
}
