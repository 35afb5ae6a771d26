package policy

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/util/managedfields"
)

// Lists in fields that the schema does not have are replaced. Those that it has as atomic are rejected
// (e2e/admission).
func TestApplyConfigurationReplacesUnknownLists(t *testing.T) {
	object := func(foods ...any) map[string]any {
		return map[string]any{"apiVersion": "example.com/v1", "kind": "Panda", "spec": map[string]any{"foods": foods}}
	}
	merged, err := merge(managedfields.NewDeducedTypeConverter(), object("bamboo"), object("eucalyptus"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(merged)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"apiVersion":"example.com/v1","kind":"Panda","spec":{"foods":["eucalyptus"]}}`
	if string(text) != want {
		t.Errorf("%s", text)
	}
}
