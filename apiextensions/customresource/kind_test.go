package customresource

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"triplane.dev/apiextensions/conversion"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage/wire"
)

// TestGeneration counts changes as clients of the requested version see them.
func TestGeneration(t *testing.T) {
	d := testDefinition(t)
	for _, c := range []struct {
		name, version, old, obj string
		changed                 bool
	}{
		{"nothing", "v1", `{"spec":{"a":"x"}}`, `{"spec":{"a":"x"}}`, false},
		{"metadata", "v1", `{"spec":{"a":"x"}}`, `{"metadata":{"labels":{"a":"b"}},"spec":{"a":"x"}}`, false},
		{"a field", "v1", `{"spec":{"a":"x"}}`, `{"spec":{"a":"y"}}`, true},
		{"what the other version does not have", "v2", `{"spec":{"a":"x","any":{"k":"v"}}}`, `{"spec":{"a":"x"}}`, false},
		{"what it has", "v2", `{"spec":{"a":"x","any":{"k":"v"}}}`, `{"spec":{"a":"y"}}`, true},
		{"what a version of the same shape has", "v3", `{"spec":{"any":{"k":"v"}}}`, `{"spec":{}}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			object := func(text string) object {
				content, err := parsed([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				u := &unstructured.Unstructured{Object: content}
				u.SetGroupVersionKind(d.storage.gvk)
				u.SetGeneration(7)
				return u
			}
			obj := object(c.obj)
			ctx := request.WithInfo(t.Context(), &request.Info{APIGroup: d.storage.gvk.Group, APIVersion: c.version})
			d.prepareWrite(ctx, obj, object(c.old))
			if got := obj.GetGeneration() != 7; got != c.changed {
				t.Errorf("counted %v, want %v", got, c.changed)
			}
		})
	}
}

// TestUnreadableSchema serves what an old store may hold: items that are a list.
func TestUnreadableSchema(t *testing.T) {
	crd := testDefinition(t).crd.DeepCopy()
	schemas := map[string][]byte{}
	for _, v := range crd.Spec.Versions {
		schemas[v.Name] = []byte(`{"items":[{"type":"string"}]}`)
	}
	for _, preserve := range []bool{true, false} {
		crd.Spec.PreserveUnknownFields = preserve
		d, err := New(crd, func() (map[string][]byte, error) { return schemas, nil }, conversion.None{}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.storage.compiled(); (err == nil) != preserve {
			t.Errorf("unknown fields are preserved: %v, %v", preserve, err)
		}
	}
}

// TestSchemaWaitsForObjects holds that a resource without objects needs no schema.
func TestSchemaWaitsForObjects(t *testing.T) {
	read := 0
	d, err := New(testDefinition(t).crd, func() (map[string][]byte, error) {
		read++
		return map[string][]byte{"v1": []byte(storedSchema)}, nil
	}, conversion.None{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if kind := d.kind(func() bool { return false }); kind.Names.Plural != "things" || read != 0 {
		t.Errorf("schemas were read %d times before there is an object of %s", read, kind.Names.Plural)
	}
	for range 2 {
		if _, err := d.storage.codec.FromHub(d.storage.codec.New()); err != nil {
			t.Fatal(err)
		}
		gv := d.storage.gvk.GroupVersion()
		if _, _, err := newStorage(d).Transcode(nil, []byte(storedSeeds[0]), "7", gv, wire.JSON); err != nil {
			t.Fatal(err)
		}
	}
	if read != 1 {
		t.Errorf("schemas were read %d times for objects of one version", read)
	}
}

// TestStatusOfNull refuses null for a status only where there was one.
func TestStatusOfNull(t *testing.T) {
	crd := testDefinition(t).crd.DeepCopy()
	crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
	d, err := New(crd, func() (map[string][]byte, error) { return map[string][]byte{"v1": []byte(storedSchema)}, nil }, conversion.None{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := request.WithInfo(t.Context(), &request.Info{APIGroup: d.storage.gvk.Group, APIVersion: "v1"})
	thing := func(content map[string]any) object {
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(d.storage.gvk)
		return u
	}
	null := thing(map[string]any{"status": nil})
	if errs := d.validateStatus(ctx, null, thing(map[string]any{})); len(errs) > 0 {
		t.Errorf("refused where none was: %v", errs)
	}
	if errs := d.validateStatus(ctx, null, thing(map[string]any{"status": map[string]any{"s": "x"}})); len(errs) == 0 {
		t.Error("took the place of a status")
	}
}
