package admission

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/admission"
	"triplane/generic/authorization/authorizer"
	"triplane/kubeapi/group"
)

// token lets a node ask for tokens of pods that run on it, for whom the pods
// want them.
func (p *nodeRestriction) token(ctx context.Context, self string, a *admission.Attributes) error {
	if a.Operation != admission.Create || a.Subresource != "token" {
		return nil
	}
	request, ok := a.Object.(*authenticationv1.TokenRequest)
	if !ok {
		return forbidden(a, "unexpected type %T", a.Object)
	}
	ref := request.Spec.BoundObjectRef
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "" {
		return forbidden(a, "node requested token not bound to a pod")
	}
	if ref.UID == "" {
		return forbidden(a, "node requested token with a pod binding without a uid")
	}
	pod, err := group.GetNew[*corev1.Pod](ctx, p.stores, core("pods"), a.Namespace, ref.Name)
	switch {
	case apierrors.IsNotFound(err):
		return err
	case err != nil:
		return forbidden(a, "%w", err)
	case ref.UID != pod.UID:
		return forbidden(a, "the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID)
	case pod.Spec.NodeName != self:
		return forbidden(a, "node requested token bound to a pod scheduled on a different node")
	}
	return p.audience(ctx, pod, request.Spec.Audiences, a)
}

// audience refuses tokens for others than the pod's own specification, one of
// its volume drivers, or the authorizer knows of.
func (p *nodeRestriction) audience(ctx context.Context, pod *corev1.Pod, audiences []string, a *admission.Attributes) error {
	if p.anyAudience {
		return nil
	}
	wanted := "" // the API server's
	switch len(audiences) {
	case 0:
	case 1:
		wanted = audiences[0]
	default:
		return forbidden(a, "node may only request 0 or 1 audiences")
	}
	for i := range pod.Spec.Volumes {
		if p.volumeNeeds(ctx, pod, &pod.Spec.Volumes[i], wanted) {
			return nil
		}
	}
	if p.authz != nil {
		decision, _, err := p.authz.Authorize(ctx, &authorizer.Attributes{
			User: a.User, Verb: "request-serviceaccounts-token-audience", APIVersion: "v1", Resource: wanted,
			Namespace: a.Namespace, Name: a.Name, ResourceRequest: true,
		})
		if err == nil && decision == authorizer.Allow {
			return nil
		}
	}
	return forbidden(a, "audience %q not found in pod spec volume", wanted)
}

// volumeNeeds reports whether a volume of the pod is for a token of an audience:
// it projects one, or its CSI driver asks for one.
func (p *nodeRestriction) volumeNeeds(ctx context.Context, pod *corev1.Pod, v *corev1.Volume, audience string) bool {
	switch {
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			if s.ServiceAccountToken != nil && s.ServiceAccountToken.Audience == audience {
				return true
			}
		}
	case v.CSI != nil:
		return p.driverNeeds(ctx, v.CSI.Driver, audience)
	case v.PersistentVolumeClaim != nil:
		return p.claimNeeds(ctx, pod.Namespace, v.PersistentVolumeClaim.ClaimName, audience)
	case v.Ephemeral != nil:
		return p.claimNeeds(ctx, pod.Namespace, pod.Name+"-"+v.Name, audience)
	}
	return false
}

func (p *nodeRestriction) claimNeeds(ctx context.Context, namespace, name, audience string) bool {
	claim, err := group.GetNew[*corev1.PersistentVolumeClaim](ctx, p.stores, core("persistentvolumeclaims"), namespace, name)
	if err != nil || claim.Spec.VolumeName == "" {
		return false
	}
	volume, err := group.GetNew[*corev1.PersistentVolume](ctx, p.stores, core("persistentvolumes"), "", claim.Spec.VolumeName)
	return err == nil && volume.Spec.CSI != nil && p.driverNeeds(ctx, volume.Spec.CSI.Driver, audience)
}

func (p *nodeRestriction) driverNeeds(ctx context.Context, name, audience string) bool {
	driver, err := group.GetNew[*storagev1.CSIDriver](ctx, p.stores, schema.GroupResource{Group: storagev1.GroupName, Resource: "csidrivers"}, "", name)
	if err != nil {
		return false
	}
	for _, t := range driver.Spec.TokenRequests {
		if t.Audience == audience {
			return true
		}
	}
	return false
}
