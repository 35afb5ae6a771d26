package apiextensions

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestCRDsAreKeptAsV1beta1(t *testing.T) {
	crd, err := decodeCRD([]byte(widgets))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := crdStorage{}.EncodeStored(crd)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(stored), `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1",`) || !strings.HasSuffix(string(stored), "\n") {
		t.Errorf("stored as %s", stored)
	}
	var shape struct {
		Spec struct {
			Version    string
			Validation map[string]any
		}
	}
	if err := json.Unmarshal(stored, &shape); err != nil || shape.Spec.Version != "v1" || shape.Spec.Validation == nil {
		t.Errorf("stored as %s", stored)
	}
	again, err := decodeCRD(stored)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.Spec, crd.Spec) || !reflect.DeepEqual(again.Status, crd.Status) {
		t.Errorf("got %+v, want %+v", again.Spec, crd.Spec)
	}
}
