package conversion

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// FuzzAnswer reads what conversion webhooks say: an object that is accepted is
// still the one that was to be converted, with the same metadata but for labels and
// annotations.
func FuzzAnswer(f *testing.F) {
	const head = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"u","result":{"status":"Success"},"convertedObjects":[`
	for _, s := range []string{
		head + `{"apiVersion":"g/v2","kind":"K","metadata":{"name":"n","labels":{"a":"b"}}}]}}`, head + `{"apiVersion":"g/v2","kind":"K","metadata":{"name":"other"}}]}}`,
		head + `{"apiVersion":"g/v2","kind":"K","metadata":null}]}}`, head + `null,1,[]]}}`, head + `{"apiVersion":"g/v2","kind":"K","metadata":{"name":"n","labels":{"a":1}}}]}}`,
		`{"kind":"ConversionReview"}`, `null`, `{"response":{"uid":"u"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var a review
		if json.Unmarshal(body, &a) != nil {
			return
		}
		objs, err := a.objects(&apiextensionsv1.ConversionRequest{UID: "u"}, apiextensionsv1.SchemeGroupVersion)
		if err != nil {
			return
		}
		original := object("v1", "n")
		for _, raw := range objs {
			to := schema.GroupVersion{Group: "g", Version: "v2"}
			got, err := accept(original, raw.Raw, 0, to)
			if err == nil && !sameButLabels(got.Object["metadata"], original.Object["metadata"]) {
				t.Errorf("%s changed the metadata to %v", raw.Raw, got.Object)
			}
			if err == nil && (got.GetName() != original.GetName() || got.GetKind() != original.GetKind() || got.GroupVersionKind().GroupVersion() != to) {
				t.Errorf("%s became %v", raw.Raw, got.Object)
			}
		}
	})
}

func sameButLabels(a, b any) bool {
	bare := func(v any) map[string]any {
		m, _ := v.(map[string]any)
		m = maps.Clone(m)
		delete(m, "labels")
		delete(m, "annotations")
		return m
	}
	return reflect.DeepEqual(bare(a), bare(b))
}
