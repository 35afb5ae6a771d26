package rest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// An object of a few megabytes may have a hundred thousand errors.
func TestInvalid(t *testing.T) {
	for _, n := range []int{0, 1, 2, MaxCauses, 100 * MaxCauses} {
		errs := make(field.ErrorList, n)
		for i := range errs {
			errs[i] = field.Invalid(field.NewPath("list").Index(i), i, "is none of those that there are")
		}
		kind := schema.GroupKind{Group: "g", Kind: "K"}
		if got, want := Invalid(kind, "n", errs), apierrors.NewInvalid(kind, "n", errs[:min(n, MaxCauses)]); !reflect.DeepEqual(got, want) {
			t.Errorf("%d errors: %d causes", n, len(got.ErrStatus.Details.Causes))
		}
	}
}

// An error may show a list, for each of its elements.
func TestInvalidBoundsItsText(t *testing.T) {
	list := strings.Repeat("x", maxErrorText/2)
	e := field.Invalid(field.NewPath("list"), list, "has something odd")
	for n, want := range map[int]int{1: 1, 2: 2, 10: 2} {
		got := Invalid(schema.GroupKind{}, "n", slices.Repeat(field.ErrorList{e}, n))
		if causes := len(got.ErrStatus.Details.Causes); causes != want {
			t.Errorf("%d errors: %d causes, want %d", n, causes, want)
		}
	}
}
