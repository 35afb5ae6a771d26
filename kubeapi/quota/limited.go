package quota

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Limited is a resource that can be used only in namespaces with a quota for it.
type Limited struct {
	APIGroup string `json:"apiGroup"`
	Resource string `json:"resource"`
	// MatchContains are parts of names of what objects use: of each that has
	// one of them there must be a quota.
	MatchContains []string `json:"matchContains"`
	// MatchScopes are scopes: for each that the object is in there must be a quota.
	MatchScopes []corev1.ScopedResourceSelectorRequirement `json:"matchScopes"`
}

// Covered refuses an object that uses what is limited without a quota for it. Quotas
// are those of the namespace that count the object.
func Covered(limited []Limited, gr schema.GroupResource, obj runtime.Object, quotas []*corev1.ResourceQuota) error {
	uncovered := sets.New[string]()
	var scopes []corev1.ScopedResourceSelectorRequirement
	for i := range limited {
		l := &limited[i]
		if l.APIGroup != gr.Group || l.Resource != gr.Resource {
			continue
		}
		for name, amount := range Usage(gr, obj) {
			if amount.Sign() > 0 && l.contains(string(name)) && !slices.ContainsFunc(quotas,
				func(q *corev1.ResourceQuota) bool { return bounds(q, name) }) {
				uncovered.Insert(string(name))
			}
		}
		for _, s := range l.MatchScopes {
			if inScope(s, obj) && !slices.ContainsFunc(quotas,
				func(q *corev1.ResourceQuota) bool { return selectsScope(q, s, obj) }) {
				scopes = append(scopes, s)
			}
		}
	}
	switch {
	case uncovered.Len() > 0:
		return fmt.Errorf("insufficient quota to consume: %s", strings.Join(sets.List(uncovered), ","))
	case len(scopes) > 0:
		return fmt.Errorf("insufficient quota to match these scopes: %v", scopes)
	}
	return nil
}

func (l *Limited) contains(name string) bool {
	return slices.ContainsFunc(l.MatchContains, func(part string) bool { return strings.Contains(name, part) })
}

func bounds(q *corev1.ResourceQuota, name corev1.ResourceName) bool {
	_, ok := q.Status.Hard[name]
	return ok
}

// selectsScope reports whether a quota is for objects in a scope.
func selectsScope(q *corev1.ResourceQuota, s corev1.ScopedResourceSelectorRequirement, obj runtime.Object) bool {
	if slices.Contains(q.Spec.Scopes, s.ScopeName) {
		return true
	}
	return q.Spec.ScopeSelector != nil && slices.ContainsFunc(q.Spec.ScopeSelector.MatchExpressions,
		func(r corev1.ScopedResourceSelectorRequirement) bool {
			return r.ScopeName == s.ScopeName && inScope(r, obj)
		})
}
