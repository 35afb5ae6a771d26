package noderestriction

import (
	"context"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/group"
)

// podCertificate restricts a kubelet's PodCertificateRequests to pods on its node, with their current fields, and
// to signers whose certificates the pod mounts, or that the authorizer allows.
func (p *Plugin) podCertificate(ctx context.Context, self string, a *admission.Attributes) error {
	r, ok := a.Object.(*certificatesv1beta1.PodCertificateRequest)
	if !ok || a.Operation != admission.Create || a.Subresource != "" {
		return nil
	}
	if s := &r.Spec; string(s.NodeName) != self {
		return admission.Forbiddenf(a,
			"PodCertificateRequest.Spec.NodeName=%q, which is not the requesting node %q", s.NodeName,
			self)
	}
	what := a.Namespace + "/" + r.Spec.PodName
	pod, err := group.Pods(p.stores).Get(ctx, a.Namespace, r.Spec.PodName)
	if err != nil {
		return admission.Forbiddenf(a, "while retrieving pod %q named in the PodCertificateRequest: %w", what, err)
	}
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	switch s := &r.Spec; {
	case pod.UID != s.PodUID:
		return admission.Forbiddenf(a,
			"PodCertificateRequest for pod %q contains pod UID (%q) which differs from running pod %q",
			what, s.PodUID, pod.UID)
	case pod.Spec.NodeName != self:
		return admission.Forbiddenf(a,
			"pod %q is not running on node %q named in the PodCertificateRequest", what, self)
	case mirror:
		return admission.Forbiddenf(a, "pod %q is a mirror pod", what)
	case pod.Spec.ServiceAccountName != s.ServiceAccountName:
		return admission.Forbiddenf(a,
			"PodCertificateRequest for pod %q contains serviceAccountName (%q) that differs from running pod (%q)",
			what, s.ServiceAccountName, pod.Spec.ServiceAccountName)
	}
	if err := p.podCertificateUIDs(ctx, what, &r.Spec, a); err != nil {
		return err
	}
	if !mountsCertificate(pod, r.Spec.SignerName) && !p.mayRequestCertificate(ctx, &r.Spec, a) {
		return admission.Forbiddenf(a, "pod %q does not mount a podCertificate projected volume for signer %q", what,
			r.Spec.SignerName)
	}
	return nil
}

// mountsCertificate reports whether a volume of the pod has a certificate of the signer.
func mountsCertificate(pod *corev1.Pod, signer string) bool {
	for i := range pod.Spec.Volumes {
		v := pod.Spec.Volumes[i].Projected
		if v == nil {
			continue
		}
		for j := range v.Sources {
			if c := v.Sources[j].PodCertificate; c != nil && c.SignerName == signer {
				return true
			}
		}
	}
	return false
}

// mayRequestCertificate reports whether the authorizer allows a node to request certificates of a signer for a
// service account.
func (p *Plugin) mayRequestCertificate(
	ctx context.Context, s *certificatesv1beta1.PodCertificateRequestSpec, a *admission.Attributes,
) bool {
	return p.allows(ctx, &authorizer.Attributes{
		User: a.User, Verb: "request-serviceaccounts-podcertificate-signer", APIGroup: certificatesv1.GroupName,
		APIVersion: "*", Resource: strings.ReplaceAll(s.SignerName, "/", ":"), Namespace: a.Namespace,
		Name: s.ServiceAccountName, ResourceRequest: true,
	})
}

// podCertificateUIDs rejects a request whose service account or node has another UID than the current one.
func (p *Plugin) podCertificateUIDs(
	ctx context.Context, pod string, s *certificatesv1beta1.PodCertificateRequestSpec, a *admission.Attributes,
) error {
	account, err := group.ServiceAccounts(p.stores).Get(ctx, a.Namespace, s.ServiceAccountName)
	if err != nil {
		return admission.Forbiddenf(a, "while retrieving service account %q named in the PodCertificateRequest: %w",
			a.Namespace+"/"+s.ServiceAccountName, err)
	}
	if account.UID != s.ServiceAccountUID {
		return admission.Forbiddenf(a,
			"PodCertificateRequest for pod %q names service account UID %q, which differs from the running service "+
				"account (%q)", pod, s.ServiceAccountUID, account.UID)
	}
	n, err := group.Nodes(p.stores).Get(ctx, "", string(s.NodeName))
	if err != nil {
		return admission.Forbiddenf(a,
			"while retrieving node %q named in the PodCertificateRequest: %w", s.NodeName, err)
	}
	if n.UID != s.NodeUID {
		return admission.Forbiddenf(a,
			"PodCertificateRequest for pod %q names node UID %q, inconsistent with the running node (%q)", pod,
			s.NodeUID, n.UID)
	}
	return nil
}
