package pod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/base/request"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/podwarnings"
)

// prepare sets what the server decides of a new pod. It preserves the resources of the whole pod if an update does not
// have them, as that of a client that does not know the field.
func prepare(ctx context.Context, o podspec.Options, p, old pod) {
	shortestForNegative(p)
	if old != nil {
		if p.Spec.Resources == nil && !o.PodLevel.Early {
			p.Spec.Resources = old.Spec.Resources.DeepCopy()
		}
		return
	}
	podspec.DefaultPodLevelResources(&p.Spec, !o.PodLevel.Early)
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: o.QOSClass(&p.Spec)}
	if len(p.Spec.SchedulingGates) > 0 {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			LastTransitionTime: metav1.Now().Rfc3339Copy(),
			Message:            "Scheduling is blocked due to non-empty scheduling gates",
		})
	}
	profilesFromAnnotations(ctx, p)
	if !o.SpreadSelectorsAsGiven {
		spreadKeysIntoSelectors(p)
	}
	labelKeysIntoSelectors(p)
}

// shortestForNegative makes a negative grace period the shortest one that is not a forced deletion.
func shortestForNegative(p pod) {
	if g := p.Spec.TerminationGracePeriodSeconds; g != nil && *g < 0 {
		p.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
	}
}

// profilesFromAnnotations sets the AppArmor profiles that annotations of old
// name in the fields that came after them, unless it is that of the pod. Windows has none.
func profilesFromAnnotations(ctx context.Context, p pod) {
	if p.Spec.OS != nil && p.Spec.OS.Name == corev1.Windows {
		return
	}
	for _, cs := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range cs {
			profileFromAnnotation(ctx, p, &cs[i])
		}
	}
}

func profileFromAnnotation(ctx context.Context, p pod, c *corev1.Container) {
	value, ok := p.Annotations[corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+c.Name]
	if !ok || c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
		return
	}
	profile := podspec.AppArmorProfile(value)
	if profile != nil && equality.Semantic.DeepEqual(profile, podspec.EffectiveAppArmor(&p.Spec, c)) {
		return
	}
	request.AddWarning(ctx, podwarnings.AppArmor(field.NewPath("metadata", "annotations"), c.Name))
	if profile == nil || value == corev1.DeprecatedAppArmorBetaProfileNamePrefix {
		return
	}
	if c.SecurityContext == nil {
		c.SecurityContext = &corev1.SecurityContext{}
	}
	c.SecurityContext.AppArmorProfile = profile
}

// spreadKeysIntoSelectors turns the label keys that spread constraints name into
// requirements on the pod's own values.
func spreadKeysIntoSelectors(p pod) {
	for i := range p.Spec.TopologySpreadConstraints {
		if c := &p.Spec.TopologySpreadConstraints[i]; c.LabelSelector != nil {
			for _, k := range c.MatchLabelKeys {
				requireLabel(p, c.LabelSelector, k, metav1.LabelSelectorOpIn)
			}
		}
	}
}

// labelKeysIntoSelectors does the same for affinity terms.
func labelKeysIntoSelectors(p pod) {
	a := p.Spec.Affinity
	if a == nil {
		return
	}
	if x := a.PodAffinity; x != nil {
		labelKeys(p, x.RequiredDuringSchedulingIgnoredDuringExecution, x.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if x := a.PodAntiAffinity; x != nil {
		labelKeys(p, x.RequiredDuringSchedulingIgnoredDuringExecution, x.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func labelKeys(p pod, terms []corev1.PodAffinityTerm, weighted []corev1.WeightedPodAffinityTerm) {
	one := func(t *corev1.PodAffinityTerm) {
		if t.LabelSelector == nil {
			return
		}
		for _, k := range t.MatchLabelKeys {
			requireLabel(p, t.LabelSelector, k, metav1.LabelSelectorOpIn)
		}
		for _, k := range t.MismatchLabelKeys {
			requireLabel(p, t.LabelSelector, k, metav1.LabelSelectorOpNotIn)
		}
	}
	for i := range terms {
		one(&terms[i])
	}
	for i := range weighted {
		one(&weighted[i].PodAffinityTerm)
	}
}

func requireLabel(p pod, s *metav1.LabelSelector, key string, op metav1.LabelSelectorOperator) {
	if v, ok := p.Labels[key]; ok {
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: op,
			Values: []string{v}})
	}
}
