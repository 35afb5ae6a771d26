package rest

import (
	"reflect"
	"runtime"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestInvalidIsNewInvalid(t *testing.T) {
	kind, path := schema.GroupKind{Group: "g", Kind: "K"}, field.NewPath("spec")
	a, b := field.Invalid(path.Child("a"), 1, "is odd"), field.Required(path.Child("b"), "")
	for _, errs := range []field.ErrorList{nil, {a}, {a, a}, {a, b}, {b, a, b}, {field.Duplicate(nil, "x")}, {field.NotSupported(path, "x", []string{"y"}), a}} {
		if got, want := Invalid(kind, "n", errs), apierrors.NewInvalid(kind, "n", errs); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got.ErrStatus, want.ErrStatus)
		}
	}
}

func TestInvalidCostsWhatItSays(t *testing.T) {
	errs := make(field.ErrorList, 5000)
	for i := range errs {
		errs[i] = field.Invalid(field.NewPath("list").Index(i), i, "is none of those that there are")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	status := Invalid(schema.GroupKind{}, "n", errs)
	runtime.ReadMemStats(&after)
	if used, limit := after.TotalAlloc-before.TotalAlloc, 20*uint64(len(status.ErrStatus.Message)); used > limit {
		t.Errorf("%d bytes were allocated for a message of %d, want at most %d", used, len(status.ErrStatus.Message), limit)
	}
}
