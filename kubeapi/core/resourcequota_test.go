package core

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A quota whose 100,000 scopes cannot count 10,000 resources would have a thousand million errors.
func TestManyScopes(t *testing.T) {
	hard := corev1.ResourceList{}
	for i := range 10_000 {
		hard[corev1.ResourceName(fmt.Sprintf("requests.hugepages-%d", i+1))] = resource.MustParse("1")
	}
	repeated, unknown := make([]corev1.ResourceQuotaScope, 100_000), make([]corev1.ResourceQuotaScope, 100_000)
	for i := range repeated {
		repeated[i], unknown[i] = corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScope(fmt.Sprint("Scope", i))
	}
	for _, scopes := range [][]corev1.ResourceQuotaScope{repeated, unknown} {
		begun := time.Now()
		s := &corev1.ResourceQuotaSpec{Hard: hard, Scopes: scopes, ScopeSelector: &corev1.ScopeSelector{}}
		for _, scope := range scopes {
			s.ScopeSelector.MatchExpressions = append(s.ScopeSelector.MatchExpressions,
				corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists})
		}
		if n := len(quotaSpec(&corev1.ResourceQuota{Spec: *s})); n < 1000 || n > 10_000 {
			t.Errorf("%s: %d errors", scopes[0], n)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s: it takes %v", scopes[0], took)
		}
	}
}
