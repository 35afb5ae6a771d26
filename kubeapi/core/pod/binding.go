package pod

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/group"
)

// binder serves "bindings", where a Binding puts the pod of the same name on a node, and
// "pods/binding", where the URL names the pod as well.
type binder struct {
	pods *registry.Store[*corev1.Pod]
	// forgetNominated clears the node that was expected to be a pod's.
	forgetNominated bool
}

func (b binder) resource() *rest.Resource {
	return &rest.Resource{
		New: func() runtime.Object { return &corev1.Binding{} }, Namespaced: true,
		KeepsMetadata: true, // the uid names the pod that is meant
		Create:        b.create,
	}
}

func (b binder) create(ctx context.Context, r rest.CreateRequest) (runtime.Object, error) {
	binding, ok := r.Object.(*corev1.Binding)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a Binding object: %#v", r.Object))
	}
	if binding.Name != r.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if errs := validateBinding(binding); len(errs) > 0 {
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Binding").GroupKind(), r.Name, errs)
	}
	if err := group.Admit(ctx, binding, r.Validate); err != nil {
		return nil, err
	}
	dryRun := r.Options != nil && len(r.Options.DryRun) > 0
	sub := &kind.Subresource[pod]{}
	_, err := b.pods.Modify(ctx, r.Name, sub, dryRun, func(p pod) error {
		if err := b.pods.CheckPreconditions(ctx, p, meant(binding)); err != nil {
			return err
		}
		return bindTo(p, binding, b.forgetNominated)
	})
	if err != nil {
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess, Code: 201}, nil
}

// meant returns what a binding says of the pod that it means.
func meant(b *corev1.Binding) *metav1.Preconditions {
	var p metav1.Preconditions
	if b.UID != "" {
		p.UID = &b.UID
	}
	if b.ResourceVersion != "" {
		p.ResourceVersion = &b.ResourceVersion
	}
	return &p
}

func validateBinding(b *corev1.Binding) field.ErrorList {
	var errs field.ErrorList
	target := field.NewPath("target")
	if b.Target.Kind != "" && b.Target.Kind != "Node" {
		errs = append(errs, field.NotSupported(target.Child("kind"), b.Target.Kind, []string{"Node", "<empty>"}))
	}
	if name := target.Child("name"); b.Target.Name == "" {
		errs = append(errs, field.Required(name, ""))
	} else if len(errs) == 0 {
		errs = check.Subdomain(b.Target.Name, name)
	}
	// Annotations become those of the pod.
	if _, mirror := b.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "annotations").Key(corev1.MirrorPodAnnotationKey),
			"may not add mirror pod annotation"))
	}
	return errs
}

// bindTo binds a pod. forgetNominated is whether its status loses the node that was
// expected to be its one.
func bindTo(p pod, b *corev1.Binding, forgetNominated bool) error {
	conflict := func(msg string, args ...any) error {
		return apierrors.NewConflict(corev1.Resource("pods/binding"), p.Name, fmt.Errorf(msg, args...))
	}
	switch {
	case p.DeletionTimestamp != nil:
		return conflict("pod %s is being deleted, cannot be assigned to a host", p.Name)
	case p.Spec.NodeName != "":
		return conflict("pod %s is already assigned to node %q", p.Name, p.Spec.NodeName)
	case len(p.Spec.SchedulingGates) > 0:
		return conflict("pod %s has non-empty .spec.schedulingGates", p.Name)
	}
	p.Spec.NodeName = b.Target.Name
	if forgetNominated {
		p.Status.NominatedNodeName = ""
	}
	for k, v := range b.Annotations {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[k] = v
	}
	for k, v := range b.Labels {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[k] = v
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			if c.Status != corev1.ConditionTrue {
				c.Status, c.LastTransitionTime, c.Reason, c.Message = corev1.ConditionTrue, metav1.Now().Rfc3339Copy(), "", ""
			}
			return nil
		}
	}
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now().Rfc3339Copy(),
	})
	return nil
}
