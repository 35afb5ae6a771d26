package apps

import (
	"context"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/podvalidation"
	"triplane.dev/kubeapi/podspec/podwarnings"
	"triplane.dev/kubeapi/workload"
)

type daemonSet = *appsv1.DaemonSet

// daemonSetKind declares the DaemonSet; o says what its pods may be.
func daemonSetKind(o podspec.Options) kind.Kind[daemonSet] {
	return kind.Kind[daemonSet]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"ds"}, Categories: []string{"all"}},
		Representation: kind.Typed[daemonSet]{Former: formerDaemonSets(), Readable: readableGeneration,
			MetadataOnUpdate: kind.MetadataChange},
		Write: kind.Write[daemonSet]{
			Default:          defaultDaemonSet,
			CountsGeneration: true, AllowUnconditionalUpdate: kind.Always,
			Prepare: func(_ context.Context, d, old daemonSet) {
				switch {
				case old == nil:
					setTemplateGeneration(d, max(templateGeneration(d), 1))
				case check.Differs(d.Spec.Template, old.Spec.Template):
					setTemplateGeneration(d, templateGeneration(old)+1)
				default:
					setTemplateGeneration(d, templateGeneration(old))
				}
			},
			Validate: workload.Validate(o, validateDaemonSet),
			Warnings: daemonSetWarnings,
		},
		Columns: workload.Columns(
			show.Field("Desired", "status.desiredNumberScheduled"),
			show.Field("Current", "status.currentNumberScheduled"),
			show.Field("Ready", "status.numberReady"), show.Field("Up-to-date", "status.updatedNumberScheduled"),
			show.Field("Available", "status.numberAvailable"),
			show.Field("Node Selector", "spec.template.spec.nodeSelector"), show.Wide(show.Path("spec.selector"))),
		Status: &kind.Subresource[daemonSet]{
			Prepare: func(_ context.Context, d, old daemonSet) {
				setTemplateGeneration(d, templateGeneration(old))
			},
			Validate: validateDaemonSetStatus,
		},
	}
}

// templateGeneration counts the changes of the template; it survives in an
// annotation from the time when it was a field.
func templateGeneration(d daemonSet) int64 {
	g, _ := strconv.ParseInt(d.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	return g
}

// readableGeneration refuses an annotation that is no number.
func readableGeneration(d daemonSet) error {
	v, ok := d.Annotations[appsv1.DeprecatedTemplateGeneration]
	if !ok {
		return nil
	}
	_, err := strconv.ParseInt(v, 10, 64)
	return err
}

func setTemplateGeneration(d *appsv1.DaemonSet, g int64) {
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	d.Annotations[appsv1.DeprecatedTemplateGeneration] = strconv.FormatInt(g, 10)
}

func defaultDaemonSet(d daemonSet) {
	podspec.Default(&d.Spec.Template)
	if readableGeneration(d) == nil {
		setTemplateGeneration(d, templateGeneration(d)) // whoever writes the object owns it
	}
	defaults.Set(&d.Spec.RevisionHistoryLimit, 10)
	s := &d.Spec.UpdateStrategy
	if s.Type == "" {
		s.Type = appsv1.RollingUpdateDaemonSetStrategyType
	}
	if s.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		defaults.Set(&s.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		defaults.Set(&s.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		defaults.Set(&s.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	} else if s.RollingUpdate != nil {
		defaults.Set(&s.RollingUpdate.MaxUnavailable, intstr.FromInt32(0))
		defaults.Set(&s.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
}

func daemonSetWarnings(_ context.Context, d, old daemonSet) []string {
	if old != nil && templateGeneration(d) == templateGeneration(old) {
		return nil
	}
	return podwarnings.Template(&d.Spec.Template, templatePath())
}

func validateDaemonSet(o podspec.Options, d, old daemonSet) field.ErrorList {
	s, path := &d.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if old != nil {
		errs = check.Immutable(s.Selector, old.Spec.Selector, path.Child("selector"))
	}
	errs = append(errs, metavalidation.ValidateLabelSelector(s.Selector,
		metavalidation.LabelSelectorValidationOptions{}, path.Child("selector"))...)
	if selector, err := metav1.LabelSelectorAsSelector(s.Selector); err == nil {
		errs = append(errs, workload.Selected(selector, &s.Template, path.Child("template"))...)
	}
	if s.Selector != nil && len(s.Selector.MatchLabels)+len(s.Selector.MatchExpressions) == 0 {
		errs = append(errs, field.Invalid(path.Child("selector"), s.Selector, "empty selector is invalid for daemonset"))
	}
	errs = append(errs, podvalidation.Template(o, &s.Template, path.Child("template"))...)
	errs = append(errs, workload.AlwaysRestarted(&s.Template, "DaemonSet", path.Child("template"))...)
	errs = append(errs, check.NonNegative(int64(s.MinReadySeconds), path.Child("minReadySeconds"))...)
	errs = append(errs, validateDaemonSetStrategy(&s.UpdateStrategy, path.Child("updateStrategy"))...)
	return append(errs, check.NonNegativePtr(s.RevisionHistoryLimit, path.Child("revisionHistoryLimit"))...)
}

func validateDaemonSetStrategy(s *appsv1.DaemonSetUpdateStrategy, path *field.Path) field.ErrorList {
	switch s.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return nil
	case appsv1.RollingUpdateDaemonSetStrategyType:
		if s.RollingUpdate == nil {
			return field.ErrorList{field.Required(path.Child("rollingUpdate"), "")}
		}
		return validateDaemonSetRolling(s.RollingUpdate, path.Child("rollingUpdate"))
	}
	return field.ErrorList{field.NotSupported(path, *s,
		[]appsv1.DaemonSetUpdateStrategyType{appsv1.RollingUpdateDaemonSetStrategyType,
			appsv1.OnDeleteDaemonSetStrategyType})}
}

func validateDaemonSetRolling(r *appsv1.RollingUpdateDaemonSet, path *field.Path) field.ErrorList {
	unavailable, surge := ptr.Deref(r.MaxUnavailable, intstr.IntOrString{}), ptr.Deref(r.MaxSurge, intstr.IntOrString{})
	var errs field.ErrorList
	for _, v := range []struct {
		value intstr.IntOrString
		name  string
	}{{unavailable, "maxUnavailable"}, {surge, "maxSurge"}} {
		errs = append(errs, check.NonNegativeIntOrPercent(v.value, path.Child(v.name))...)
		errs = append(errs, check.AtMost100Percent(v.value, path.Child(v.name))...)
	}
	hasUnavailable, hasSurge := check.IntOrPercentValue(unavailable) != 0, check.IntOrPercentValue(surge) != 0
	switch {
	case hasUnavailable && hasSurge:
		errs = append(errs, field.Invalid(path.Child("maxSurge"), r.MaxSurge,
			"may not be set when maxUnavailable is non-zero"))
	case !hasUnavailable && !hasSurge:
		errs = append(errs, field.Required(path.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0"))
	}
	return errs
}

func validateDaemonSetStatus(_ context.Context, d, old daemonSet) field.ErrorList {
	s, path := &d.Status, field.NewPath("status")
	errs := workload.Counts(path,
		workload.Count("currentNumberScheduled", s.CurrentNumberScheduled),
		workload.Count("numberMisscheduled", s.NumberMisscheduled),
		workload.Count("desiredNumberScheduled", s.DesiredNumberScheduled), workload.Count("numberReady", s.NumberReady),
		workload.Count("observedGeneration", s.ObservedGeneration), workload.Count("updatedNumberScheduled",
			s.UpdatedNumberScheduled),
		workload.Count("numberAvailable", s.NumberAvailable), workload.Count("numberUnavailable", s.NumberUnavailable))
	errs = append(errs, check.NonNegativePtr(s.CollisionCount, path.Child("collisionCount"))...)
	return append(errs, workload.NotDecremented(s.CollisionCount, old.Status.CollisionCount,
		path.Child("collisionCount"))...)
}
