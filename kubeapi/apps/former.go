package apps

import (
	"cmp"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/api/kind"
)

// What the first betas of the workloads have in common: a selector that is left out
// is that of the template's labels. Their other defaults were filled in when they were
// stored.

const (
	appsBeta1  = "v1beta1"
	appsBeta2  = "v1beta2"
	extensions = "extensions/v1beta1"

	// rollbackAnnotation keeps what the betas had a field for.
	rollbackAnnotation = appsv1.DeprecatedRollbackTo
)

func formerDeployments() []kind.Version[*appsv1.Deployment] {
	return append(kind.SameFields[*appsv1.Deployment](appsBeta2),
		kind.SimilarFields(appsv1beta1.SchemeGroupVersion, func(old *appsv1beta1.Deployment, d *appsv1.Deployment) error {
			if r := old.Spec.RollbackTo; r != nil {
				annotate(d, rollbackAnnotation, r.Revision)
			}
			selectTemplate(&d.Spec.Selector, &d.Spec.Template)
			return nil
		}, nil),
		kind.SimilarFields(extensionsv1beta1.SchemeGroupVersion,
			func(old *extensionsv1beta1.Deployment, d *appsv1.Deployment) error {
				if r := old.Spec.RollbackTo; r != nil {
					annotate(d, rollbackAnnotation, r.Revision)
				}
				selectTemplate(&d.Spec.Selector, &d.Spec.Template)
				return nil
			}, nil))
}

func formerDaemonSets() []kind.Version[*appsv1.DaemonSet] {
	return append(kind.SameFields[*appsv1.DaemonSet](appsBeta2), kind.SimilarFields(extensionsv1beta1.SchemeGroupVersion,
		func(old *extensionsv1beta1.DaemonSet, d *appsv1.DaemonSet) error {
			if g := old.Spec.TemplateGeneration; g != 0 {
				annotate(d, appsv1.DeprecatedTemplateGeneration, g)
			}
			selectTemplate(&d.Spec.Selector, &d.Spec.Template)
			d.Spec.UpdateStrategy.Type = cmp.Or(d.Spec.UpdateStrategy.Type, appsv1.OnDeleteDaemonSetStrategyType)
			return nil
		}, nil))
}

func formerReplicaSets() []kind.Version[*appsv1.ReplicaSet] {
	out := kind.SameFields[*appsv1.ReplicaSet](appsBeta2, extensions)
	out[1].Default = kind.DefaultOf(func(r *appsv1.ReplicaSet) { selectTemplate(&r.Spec.Selector, &r.Spec.Template) })
	return out
}

func formerStatefulSets() []kind.Version[*appsv1.StatefulSet] {
	out := kind.SameFields[*appsv1.StatefulSet](appsBeta2, appsBeta1)
	out[1].Default = kind.DefaultOf(func(s *appsv1.StatefulSet) {
		selectTemplate(&s.Spec.Selector, &s.Spec.Template)
		s.Spec.UpdateStrategy.Type = cmp.Or(s.Spec.UpdateStrategy.Type, appsv1.OnDeleteStatefulSetStrategyType)
	})
	return out
}

func selectTemplate(selector **metav1.LabelSelector, template *corev1.PodTemplateSpec) {
	if *selector == nil && len(template.Labels) > 0 {
		*selector = &metav1.LabelSelector{MatchLabels: maps.Clone(template.Labels)}
	}
}

// annotate keeps what the hub has no field for.
func annotate(obj metav1.Object, key string, value int64) {
	annotations := maps.Clone(obj.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = strconv.FormatInt(value, 10)
	obj.SetAnnotations(annotations)
}
