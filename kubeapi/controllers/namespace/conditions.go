package namespace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// verdict is the result of an attempt for one condition.
type verdict struct {
	kind            corev1.NamespaceConditionType
	bad             string // reason if the condition is true
	message         string // "" if it is false
	good, goodWords string
}

func (p *purge) verdicts() []verdict {
	discovery, content := "", ""
	if len(p.unavailable) > 0 {
		discovery = p.discoveryMessage()
	}
	if len(p.errs) > 0 {
		content = fmt.Sprintf("Failed to delete all resource types, %d remaining: %v", len(p.errs),
			utilerrors.NewAggregate(p.errs))
	}
	return []verdict{
		{corev1.NamespaceDeletionDiscoveryFailure, "DiscoveryFailed", discovery, "ResourcesDiscovered",
			"All resources successfully discovered"},
		{corev1.NamespaceDeletionGVParsingFailure, "GroupVersionParsingFailed", "", "ParsedGroupVersions",
			"All legacy kube types successfully parsed"},
		{corev1.NamespaceDeletionContentFailure, "ContentDeletionFailed", content, "ContentDeleted",
			"All content successfully deleted, may be waiting on finalization"},
		{corev1.NamespaceContentRemaining, "SomeResourcesRemain", p.remainingMessage(), "ContentRemoved",
			"All content successfully removed"},
		{corev1.NamespaceFinalizersRemaining, "SomeFinalizersRemain", p.finalizersMessage(), "ContentHasNoFinalizers",
			"All content-preserving finalizers finished"},
	}
}

// condition sets the conditions, and reports whether any has changed. Conditions that are false are not added
// before one was true.
func (p *purge) condition(s *corev1.NamespaceStatus) bool {
	verdicts := p.verdicts()
	if len(s.Conditions) == 0 && !slices.ContainsFunc(verdicts, func(v verdict) bool { return v.message != "" }) {
		return false // it is deleted at once
	}
	changed := false
	for _, v := range verdicts {
		c := corev1.NamespaceCondition{Type: v.kind, Status: corev1.ConditionFalse, Reason: v.good,
			Message: v.goodWords, LastTransitionTime: metav1.Now()}
		if v.message != "" {
			c.Status, c.Reason, c.Message = corev1.ConditionTrue, v.bad, v.message
		}
		changed = set(s, c) || changed
	}
	return changed
}

func set(s *corev1.NamespaceStatus, c corev1.NamespaceCondition) bool {
	i := slices.IndexFunc(s.Conditions, func(have corev1.NamespaceCondition) bool { return have.Type == c.Type })
	if i < 0 {
		s.Conditions = append(s.Conditions, c)
		return true
	}
	have := &s.Conditions[i]
	if have.Status == c.Status && have.Reason == c.Reason && have.Message == c.Message {
		return false
	}
	if have.Status == c.Status {
		c.LastTransitionTime = have.LastTransitionTime
	}
	*have = c
	return true
}

func (p *purge) remainingMessage() string {
	if len(p.remaining) == 0 {
		return ""
	}
	var parts []string
	for _, r := range slices.SortedFunc(maps.Keys(p.remaining), byName) {
		parts = append(parts, fmt.Sprintf("%s.%s has %d resource instances", r.Resource, r.Group, p.remaining[r]))
	}
	return "Some resources are remaining: " + strings.Join(parts, ", ")
}

func byName(a, b schema.GroupVersionResource) int {
	return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Group, b.Group))
}

func (p *purge) finalizersMessage() string {
	if len(p.finalizers) == 0 {
		return ""
	}
	var parts []string
	for _, f := range slices.Sorted(maps.Keys(p.finalizers)) {
		parts = append(parts, fmt.Sprintf("%s in %d resource instances", f, p.finalizers[f]))
	}
	return "Some content in the namespace has finalizers remaining: " + strings.Join(parts, ", ")
}
