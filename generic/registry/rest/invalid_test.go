package rest

import (
	"reflect"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// An object of a few megabytes may have a hundred thousand errors.
func TestInvalid(t *testing.T) {
	for _, n := range []int{0, 1, 2, maxCauses, 100 * maxCauses} {
		errs := make(field.ErrorList, n)
		for i := range errs {
			errs[i] = field.Invalid(field.NewPath("list").Index(i), i, "is none of those that there are")
		}
		kind := schema.GroupKind{Group: "g", Kind: "K"}
		if got, want := Invalid(kind, "n", errs), apierrors.NewInvalid(kind, "n", errs[:min(n, maxCauses)]); !reflect.DeepEqual(got, want) {
			t.Errorf("%d errors: %d causes", n, len(got.ErrStatus.Details.Causes))
		}
	}
}
