package noderestriction

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/group"
)

// token restricts a node's token requests to pods that run on it, and to the audiences of those pods.
func (p *Plugin) token(ctx context.Context, self string, a *admission.Attributes) error {
	if a.Operation != admission.Create || a.Subresource != "token" {
		return nil
	}
	request, ok := a.Object.(*authenticationv1.TokenRequest)
	if !ok {
		return admission.Forbiddenf(a, "unexpected type %T", a.Object)
	}
	ref := request.Spec.BoundObjectRef
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "" {
		return admission.Forbiddenf(a, "node requested token not bound to a pod")
	}
	if ref.UID == "" {
		return admission.Forbiddenf(a, "node requested token with a pod binding without a uid")
	}
	pod, err := group.Pods(p.stores).Get(ctx, a.Namespace, ref.Name)
	switch {
	case apierrors.IsNotFound(err):
		return err
	case err != nil:
		return admission.Forbiddenf(a, "%w", err)
	case ref.UID != pod.UID:
		return admission.Forbiddenf(a,
			"the UID in the bound object reference (%s) does not match the UID in record. The object might have "+
				"been deleted and then recreated", ref.UID)
	case pod.Spec.NodeName != self:
		return admission.Forbiddenf(a, "node requested token bound to a pod scheduled on a different node")
	}
	return p.audience(ctx, pod, request.Spec.Audiences, a)
}
