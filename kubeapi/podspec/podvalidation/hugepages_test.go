package podvalidation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The size of a page is part of the resource's name, which clients choose.
func TestMultipleOfPage(t *testing.T) {
	for page, want := range map[string]bool{
		"2Mi": true, "4Mi": true, "3Mi": false, "": false, "0": false, "-2Mi": false, "1e-999999999": false, "1e999999999": false,
	} {
		if got := multipleOfPage(corev1.ResourceHugePagesPrefix+page, resource.MustParse("4Mi")); got != want {
			t.Errorf("pages of %q: %v", page, got)
		}
	}
}
