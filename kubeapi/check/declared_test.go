package check

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestEntriesOfMapsAreSorted(t *testing.T) {
	list := field.NewPath("spec", "devices")
	at := func(i int, key string) *field.Error {
		return field.Required(list.Index(i).Child("attributes").Key(key), "")
	}
	errs := field.ErrorList{field.Required(field.NewPath("z"), ""), at(1, "b"), at(1, "a"), at(0, "c"), field.Required(field.NewPath("a"), "")}
	sortEntries(errs)
	want := []string{"z", "spec.devices[1].attributes[a]", "spec.devices[1].attributes[b]", "spec.devices[0].attributes[c]", "a"}
	for i, e := range errs {
		if e.Field != want[i] {
			t.Errorf("error %d is about %s, not %s", i, e.Field, want[i])
		}
	}
}
