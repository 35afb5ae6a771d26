package core

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
)

// namespaceKind declares namespaces. They go in two steps: a deletion marks
// them, and whoever empties them takes its name from spec.finalizers through
// the subresource finalize.
func namespaceKind() kind.Kind[*corev1.Namespace] {
	type namespace = *corev1.Namespace
	return kind.Kind[namespace]{
		Names: kind.Names{ShortNames: []string{"ns"}},
		Write: kind.Write[namespace]{
			ValidateName:             validation.NameIsDNSLabel,
			AllowUnconditionalUpdate: kind.Always,
			Default: func(n namespace) {
				labelWithName(n)
				n.Status.Phase = cmp.Or(n.Status.Phase, corev1.NamespaceActive)
			},
			Prepare:  prepareNamespace,
			Validate: kind.OnCreate(validateNewNamespace),
		},
		Delete: kind.Delete[namespace]{
			ReturnsObject: true,
			Mark: func(_ context.Context, n namespace) bool {
				n.Status.Phase = corev1.NamespaceTerminating
				return true
			},
			MarkPropagates: true,
			Hold:           func(n namespace) bool { return len(n.Spec.Finalizers) > 0 },
		},
		Columns: show.Columns(show.Field("Status", "status.phase", "The status of the namespace")),
		Select:  kind.Select[namespace]{Fields: kind.Fields[namespace]("status.phase")},
		Without: []string{"deletecollection"},
		Status:  &kind.Subresource[namespace]{Validate: kind.Whole(namespacePhase)},
		// The namespace controller removes finalizers after it has deleted the objects of the namespace.
		Subresources: map[string]*kind.Subresource[namespace]{"finalize": {
			Preserves: []string{"status"}, UpdateOnly: true, NoTable: true,
			Validate: func(_ context.Context, n, _ namespace) field.ErrorList {
				return namespaceFinalizers(n, field.NewPath("spec", "finalizers").Index)
			},
		}},
	}
}

// prepareNamespace has a new namespace hold what is in it, once it is deleted.
func prepareNamespace(_ context.Context, n, old *corev1.Namespace) {
	if old != nil {
		n.Spec.Finalizers = old.Spec.Finalizers
		return
	}
	labelWithName(n) // a generated name is known only now
	n.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	if !slices.Contains(n.Spec.Finalizers, corev1.FinalizerKubernetes) {
		n.Spec.Finalizers = append(n.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

// labelWithName lets selectors of namespaces select by name.
func labelWithName(n *corev1.Namespace) {
	if n.Name == "" {
		return
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[corev1.LabelMetadataName] = n.Name
}

func validateNewNamespace(n *corev1.Namespace) field.ErrorList {
	path := field.NewPath("spec", "finalizers")
	return namespaceFinalizers(n, func(int) *field.Path { return path })
}

// namespaceFinalizers validates spec.finalizers. path is where an error of each is reported: of a new namespace
// all are reported at the list, as kube-apiserver has it.
func namespaceFinalizers(n *corev1.Namespace, path func(i int) *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, f := range n.Spec.Finalizers {
		errs = append(errs, finalizerName(string(f), path(i))...)
	}
	return errs
}

func namespacePhase(n *corev1.Namespace) field.ErrorList {
	path := field.NewPath("status", "Phase")
	switch {
	case n.DeletionTimestamp == nil && n.Status.Phase != corev1.NamespaceActive:
		return field.ErrorList{field.Invalid(path, n.Status.Phase, "may only be 'Active' if `deletionTimestamp` is empty")}
	case n.DeletionTimestamp != nil && n.Status.Phase != corev1.NamespaceTerminating:
		return field.ErrorList{field.Invalid(path, n.Status.Phase,
			"may only be 'Terminating' if `deletionTimestamp` is not empty")}
	}
	return nil
}
