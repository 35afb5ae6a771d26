package group

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestSloppyAddresses(t *testing.T) {
	for _, c := range []struct {
		field, text string
		valid       func(*field.Path, string, bool, []string) field.ErrorList
		left        int
	}{
		{"spec.externalIPs", "010.1.2.3", validation.IsValidIPForLegacyField, 0},
		{"spec.externalIPs", "::ffff:1.2.3.4", validation.IsValidIPForLegacyField, 0},
		{"spec.externalIPs", "1.2.3", validation.IsValidIPForLegacyField, 1},
		{"spec.cidr", "10.0.0.1/8", validation.IsValidCIDRForLegacyField, 0},
		{"spec.cidr", "10.0.0.1/08", validation.IsValidCIDRForLegacyField, 0},
		{"spec.cidr", "10.0.0.1/33", validation.IsValidCIDRForLegacyField, 1},
	} {
		errs := c.valid(field.NewPath(c.field), c.text, true, nil)
		if left := sloppy(errs); len(errs) == 0 && c.left == 0 || len(left) != c.left {
			t.Errorf("%s %s: %v", c.field, c.text, left)
		}
	}
	other := field.ErrorList{field.Invalid(field.NewPath("a"), "010.1.2.3", "must match a label"), field.Required(field.NewPath("b"), "")}
	if left := sloppy(other); len(left) != 2 {
		t.Errorf("what is no matter of addresses is dropped: %v", left)
	}
}
