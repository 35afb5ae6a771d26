package pod

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/podvalidation"
	"triplane.dev/kubeapi/specdiff"
)

// validateUpdate lets a pod's images, deadline and tolerations change, and
// while it waits behind gates, where it may run. A spec that does not change is valid: most updates are about labels,
// annotations and finalizers.
func validateUpdate(o podspec.Options, p, old pod) field.ErrorList {
	annotations := field.NewPath("metadata", "annotations")
	faults := podvalidation.Annotations(p.Annotations, &p.Spec, annotations)
	kept := append(podvalidation.AppArmorKept(p.Annotations, old.Annotations, annotations), mirrorAnnotation(p, old)...)
	// kube-apiserver validates the annotations of a pod that changes twice, and reports
	// each fault twice in the causes.
	if !check.Differs(&p.Spec, &old.Spec) {
		return slices.Concat(faults, kept, faults)
	}
	return slices.Concat(validate(o, p), kept, faults, validateChange(o, p, old))
}

func validateChange(o podspec.Options, p, old pod) field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	if len(p.Spec.Containers) != len(old.Spec.Containers) {
		return append(errs, field.Forbidden(spec.Child("containers"), "pod updates may not add or remove containers"))
	}
	if len(p.Spec.InitContainers) != len(old.Spec.InitContainers) {
		return append(errs, field.Forbidden(spec.Child("initContainers"), "pod updates may not add or remove containers"))
	}
	errs = append(errs, changedImages(p.Spec.Containers, spec.Child("containers"))...)
	errs = append(errs, changedImages(p.Spec.InitContainers, spec.Child("initContainers"))...)
	errs = append(errs, deadlineChange(p, old, spec.Child("activeDeadlineSeconds"))...)
	errs = append(errs, addedTolerations(o, p.Spec.Tolerations, old.Spec.Tolerations, spec.Child("tolerations"))...)
	errs = append(errs, removedGates(p, old, spec.Child("schedulingGates"))...)
	return append(errs, otherChanges(p, old, spec)...)
}

// mirrorAnnotation keeps pods from becoming mirror pods and from ceasing to be
// such: they are exempt from service accounts and have fewer rights.
func mirrorAnnotation(p, old pod) field.ErrorList {
	path := field.NewPath("metadata", "annotations").Key(corev1.MirrorPodAnnotationKey)
	now, is := p.Annotations[corev1.MirrorPodAnnotationKey]
	before, was := old.Annotations[corev1.MirrorPodAnnotationKey]
	switch {
	case was && (!is || now != before):
		return field.ErrorList{field.Forbidden(path, "may not remove or update mirror pod annotation")}
	case is && !was:
		return field.ErrorList{field.Forbidden(path, "may not add mirror pod annotation")}
	}
	return nil
}

func deadlineChange(p, old pod, path *field.Path) field.ErrorList {
	now, before := p.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds
	switch {
	case now != nil && (*now < 0 || *now > math.MaxInt32):
		return field.ErrorList{field.Invalid(path, *now, utilvalidation.InclusiveRangeError(0, math.MaxInt32))}
	case now != nil && before != nil && *before < *now:
		return field.ErrorList{field.Invalid(path, *now, "must be less than or equal to previous value")}
	case now == nil && before != nil:
		return field.ErrorList{field.Invalid(path, now, "must not update from a positive integer to nil value")}
	}
	return nil
}

func addedTolerations(o podspec.Options, now, before []corev1.Toleration, path *field.Path) field.ErrorList {
	kept := sets.New[corev1.Toleration]()
	for _, n := range now {
		n.TolerationSeconds = nil
		kept.Insert(n)
	}
	for _, o := range before {
		if o.TolerationSeconds = nil; !kept.Has(o) {
			return field.ErrorList{field.Forbidden(path, "existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	// They are validated again as a change, as kube-apiserver has it: each error appears twice.
	return podvalidation.Tolerations(now, o.ComparedTolerations, path)
}

func removedGates(p, old pod, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	before := sets.New(old.Spec.SchedulingGates...)
	last := map[corev1.PodSchedulingGate]int{}
	for i, g := range p.Spec.SchedulingGates {
		last[g] = i
	}
	for i, g := range p.Spec.SchedulingGates {
		if !before.Has(g) && last[g] == i { // a gate is named where it stands last
			errs = append(errs, field.Forbidden(path.Index(i).Child("name"),
				fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", g.Name)))
		}
	}
	return errs
}

// otherChanges puts the old values where a change is allowed, and refuses what
// differs still.
func otherChanges(p, old pod, path *field.Path) field.ErrorList {
	s := p.Spec.DeepCopy()
	for i := range s.Containers {
		s.Containers[i].Image = old.Spec.Containers[i].Image
	}
	for i := range s.InitContainers {
		s.InitContainers[i].Image = old.Spec.InitContainers[i].Image
	}
	s.ActiveDeadlineSeconds, s.Tolerations, s.SchedulingGates = old.Spec.ActiveDeadlineSeconds, old.Spec.Tolerations,
		old.Spec.SchedulingGates
	if g := old.Spec.TerminationGracePeriodSeconds; g != nil && *g < 0 && s.TerminationGracePeriodSeconds != nil &&
		*s.TerminationGracePeriodSeconds == 1 {
		s.TerminationGracePeriodSeconds = g
	}
	var errs field.ErrorList
	if len(old.Spec.SchedulingGates) > 0 {
		errs = append(errs, tighterPlacement(p, old, path)...)
		s.NodeSelector = old.Spec.NodeSelector
		keepNodeAffinity(s, &old.Spec)
	}
	if !check.Differs(*s, old.Spec) {
		return errs
	}
	allowed := []string{
		"`spec.containers[*].image`", "`spec.initContainers[*].image`", "`spec.activeDeadlineSeconds`",
		"`spec.tolerations` (only additions to existing tolerations)",
		"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
	}
	return append(errs, field.Forbidden(path, fmt.Sprintf("pod updates may not change fields other than %s\n%v",
		strings.Join(allowed, ","), specdiff.Of(&old.Spec, s))))
}

// changedImages validates images a second time: an update may change them, but not take
// them away.
func changedImages(cs []corev1.Container, list *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range cs {
		p := list.Index(i).Child("image")
		if cs[i].Image == "" {
			errs = append(errs, field.Required(p, ""))
		} else if strings.TrimSpace(cs[i].Image) != cs[i].Image {
			errs = append(errs, field.Invalid(p, cs[i].Image, "must not have leading or trailing whitespace"))
		}
	}
	return errs
}
