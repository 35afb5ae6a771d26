package apps

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"triplane.dev/kubeapi/podspec/volume"
	"triplane.dev/kubeapi/workload"
)

// statefulSetGates are the feature gates that StatefulSets follow.
type statefulSetGates struct {
	parallel bool // MaxUnavailableStatefulSet
	recreate bool // StatefulSetRecreateStrategy
}

// statefulSetKind declares the StatefulSet; o says what its pods may be.
func statefulSetKind(o podspec.Options, gates statefulSetGates) kind.Kind[*appsv1.StatefulSet] {
	type statefulSet = *appsv1.StatefulSet
	o.AnyHostname = true // its pods are named after the set
	return kind.Kind[statefulSet]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"sts"}, Categories: []string{"all"}},
		Representation: kind.Typed[statefulSet]{
			Former:           formerStatefulSets(),
			MetadataOnUpdate: kind.MetadataChange,
			Bookmark:         func(s statefulSet) { s.Spec.Replicas = new(int32) },
		},
		Write: kind.Write[statefulSet]{
			Default:      func(s statefulSet) { defaultStatefulSet(s, gates.parallel) },
			ValidateName: validation.NameIsDNSLabel,
			Immutable: []string{"spec.selector", "spec.volumeClaimTemplates", "spec.serviceName",
				"spec.podManagementPolicy"},
			CountsGeneration: true, AllowUnconditionalUpdate: kind.Always,
			Validate: workload.Validate(o, gates.validate),
			Warnings: statefulSetWarnings,
		},
		Columns: workload.Columns(
			show.Cell("Ready", "Number of the pod with ready state", statefulSetReady)),
		Status: &kind.Subresource[statefulSet]{Validate: validateStatefulSetStatus},
		Scale:  kind.ScaleOf[statefulSet](),
	}
}

func defaultStatefulSet(s *appsv1.StatefulSet, parallel bool) {
	podspec.Default(&s.Spec.Template)
	for i := range s.Spec.VolumeClaimTemplates {
		workload.DefaultClaim(&s.Spec.VolumeClaimTemplates[i])
	}
	if s.Spec.PodManagementPolicy == "" {
		s.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
	}
	u := &s.Spec.UpdateStrategy
	if u.Type == "" {
		u.Type = appsv1.RollingUpdateStatefulSetStrategyType
		defaults.Set(&u.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if u.Type == appsv1.RollingUpdateStatefulSetStrategyType && u.RollingUpdate != nil {
		defaults.Set(&u.RollingUpdate.Partition, 0)
		if parallel {
			defaults.Set(&u.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		}
	}
	defaults.Set(&s.Spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	for _, p := range []*appsv1.PersistentVolumeClaimRetentionPolicyType{
		&s.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, &s.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled} {
		if *p == "" {
			*p = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
		}
	}
	defaults.Set(&s.Spec.Replicas, 1)
	defaults.Set(&s.Spec.RevisionHistoryLimit, 10)
}

// validateStatefulSetSpec validates the spec of a StatefulSet. old is nil for a new
// one: the claim templates and the service's name are fixed later.
func validateStatefulSetSpec(o podspec.Options, set, old *appsv1.StatefulSet, recreate bool) field.ErrorList {
	s, path := &set.Spec, field.NewPath("spec")
	errs := validateStatefulSetPolicies(s, recreate, path)
	if old == nil {
		for i := range s.VolumeClaimTemplates {
			errs = append(errs, volume.ClaimSpec(&s.VolumeClaimTemplates[i].Spec, nil,
				path.Child("volumeClaimTemplates").Index(i).Child("spec"))...)
		}
	}
	errs = append(errs, check.NonNegativePtr(s.Replicas, path.Child("replicas"))...)
	errs = append(errs, check.NonNegative(int64(s.MinReadySeconds), path.Child("minReadySeconds"))...)
	if s.Ordinals != nil {
		errs = append(errs, check.NonNegative(int64(s.Ordinals.Start), path.Child("ordinals", "start"))...)
	}
	if s.ServiceName != "" && old == nil {
		errs = append(errs, check.Label(s.ServiceName, path.Child("serviceName"))...)
	}
	errs = append(errs, workload.Selector(s.Selector, "statefulset", path.Child("selector"))...)
	selector, err := metav1.LabelSelectorAsSelector(s.Selector)
	if err != nil {
		errs = append(errs, field.Invalid(path.Child("selector"), s.Selector, ""))
	} else {
		if !selector.Empty() {
			errs = append(errs, workload.Selected(selector, &s.Template, path.Child("template"))...)
		}
		errs = append(errs, podvalidation.Template(o, claimsAsVolumes(set), path.Child("template"))...)
	}
	return append(errs, workload.AlwaysRestarted(&s.Template, "StatefulSet", path.Child("template"))...)
}

// claimsAsVolumes is the template as its pods will have it: each claim template
// becomes a volume, instead of one of the same name.
func claimsAsVolumes(s *appsv1.StatefulSet) *corev1.PodTemplateSpec {
	if len(s.Spec.VolumeClaimTemplates) == 0 {
		return &s.Spec.Template
	}
	t := s.Spec.Template.DeepCopy()
	volumes := make([]corev1.Volume, 0, len(t.Spec.Volumes)+len(s.Spec.VolumeClaimTemplates))
	claimed := map[string]bool{}
	for _, c := range s.Spec.VolumeClaimTemplates {
		if claimed[c.Name] {
			continue
		}
		claimed[c.Name] = true
		volumes = append(volumes, corev1.Volume{Name: c.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name}}})
	}
	for _, v := range t.Spec.Volumes {
		if !claimed[v.Name] {
			volumes = append(volumes, v)
		}
	}
	t.Spec.Volumes = volumes
	return t
}

func validateStatefulSetPolicies(s *appsv1.StatefulSetSpec, recreate bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch s.PodManagementPolicy {
	case "":
		errs = append(errs, field.Required(path.Child("podManagementPolicy"), ""))
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
	default:
		errs = append(errs, field.Invalid(path.Child("podManagementPolicy"), s.PodManagementPolicy,
			"must be 'OrderedReady' or 'Parallel'"))
	}
	errs = append(errs, validateStatefulSetStrategy(&s.UpdateStrategy, recreate, path.Child("updateStrategy"))...)
	if p := s.PersistentVolumeClaimRetentionPolicy; p != nil {
		path := path.Child("persistentVolumeClaimRetentionPolicy")
		retain, del := appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
			appsv1.DeletePersistentVolumeClaimRetentionPolicyType
		errs = append(errs, check.OneOf(p.WhenDeleted, path.Child("whenDeleted"), retain, del)...)
		errs = append(errs, check.OneOf(p.WhenScaled, path.Child("whenScaled"), retain, del)...)
	}
	return errs
}

// validateStatefulSetStrategy validates how pods are replaced. The strategy Recreate has a feature gate.
func validateStatefulSetStrategy(u *appsv1.StatefulSetUpdateStrategy, recreate bool, path *field.Path) field.ErrorList {
	if u.Type == appsv1.RecreateStatefulSetStrategyType && recreate {
		return validateNoRolling(u, path)
	}
	switch u.Type {
	case "":
		return field.ErrorList{field.Required(path, "")}
	case appsv1.OnDeleteStatefulSetStrategyType:
		return validateNoRolling(u, path)
	case appsv1.RollingUpdateStatefulSetStrategyType:
		return validateStatefulSetRolling(u.RollingUpdate, path.Child("rollingUpdate"))
	case appsv1.RecreateStatefulSetStrategyType:
	}
	if recreate {
		return field.ErrorList{field.Invalid(path, *u, "must be 'RollingUpdate', 'OnDelete', or 'Recreate'")}
	}
	return field.ErrorList{field.Invalid(path, *u, "must be 'RollingUpdate' or 'OnDelete'")}
}

func validateNoRolling(u *appsv1.StatefulSetUpdateStrategy, path *field.Path) field.ErrorList {
	if u.RollingUpdate == nil {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("rollingUpdate"), *u.RollingUpdate,
		"only allowed for updateStrategy '"+string(appsv1.RollingUpdateStatefulSetStrategyType)+"'")}
}

func validateStatefulSetRolling(r *appsv1.RollingUpdateStatefulSetStrategy, path *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	errs := check.NonNegativePtr(r.Partition, path.Child("partition"))
	if m := r.MaxUnavailable; m != nil {
		path := path.Child("maxUnavailable")
		errs = append(errs, check.NonNegativeIntOrPercent(*m, path)...)
		if check.IntOrPercentValue(*m) == 0 {
			errs = append(errs, field.Invalid(path, *m, "cannot be 0"))
		}
		errs = append(errs, check.AtMost100Percent(*m, path)...)
	}
	return errs
}

func statefulSetReady(s *appsv1.StatefulSet) string {
	return fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, ptr.Deref(s.Spec.Replicas, 0))
}

func (g statefulSetGates) validate(o podspec.Options, s, old *appsv1.StatefulSet) field.ErrorList {
	if old == nil {
		return validateStatefulSetSpec(o, s, nil, g.recreate)
	}
	recreate := g.recreate || old.Spec.UpdateStrategy.Type == appsv1.RecreateStatefulSetStrategyType
	return validateStatefulSetSpec(o, s, old, recreate)
}

func statefulSetWarnings(_ context.Context, s, old *appsv1.StatefulSet) []string {
	warnings := workload.TemplateWarnings(s, old, &s.Spec.Template, templatePath())
	if old == nil || s.Generation != old.Generation {
		for i := range s.Spec.VolumeClaimTemplates {
			warnings = append(warnings, podwarnings.ClaimSpec(&s.Spec.VolumeClaimTemplates[i].Spec,
				field.NewPath("spec", "volumeClaimTemplates").Index(i))...)
		}
	}
	if ptr.Deref(s.Spec.RevisionHistoryLimit, 0) < 0 {
		warnings = append(warnings, "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended")
	}
	return warnings
}

func validateStatefulSetStatus(_ context.Context, set, old *appsv1.StatefulSet) field.ErrorList {
	s, path := &set.Status, field.NewPath("status")
	errs := workload.Counts(path,
		workload.Count("replicas", s.Replicas), workload.Count("readyReplicas", s.ReadyReplicas),
		workload.Count("currentReplicas", s.CurrentReplicas), workload.Count("updatedReplicas", s.UpdatedReplicas),
		workload.Count("availableReplicas", s.AvailableReplicas), workload.Count("observedGeneration", s.ObservedGeneration))
	errs = append(errs, check.NonNegativePtr(s.CollisionCount, path.Child("collisionCount"))...)
	for _, c := range []struct {
		name  string
		value int32
	}{{"readyReplicas", s.ReadyReplicas}, {"currentReplicas", s.CurrentReplicas}, {"updatedReplicas", s.UpdatedReplicas},
		{"availableReplicas", s.AvailableReplicas}} {
		errs = append(errs, workload.NotAbove(c.value, s.Replicas, path.Child(c.name), "status.replicas")...)
	}
	errs = append(errs, workload.NotAbove(s.AvailableReplicas, s.ReadyReplicas, path.Child("availableReplicas"),
		"status.readyReplicas")...)
	return append(errs, workload.NotDecremented(s.CollisionCount, old.Status.CollisionCount,
		path.Child("collisionCount"))...)
}
