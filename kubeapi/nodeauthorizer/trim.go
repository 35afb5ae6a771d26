package nodeauthorizer

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Trim is an informer's transform function: it keeps of a pod only what the
// authorizer looks at, so that an informer that serves nothing else stays small.
func Trim(o any) (any, error) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	small := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion},
		Spec: corev1.PodSpec{
			NodeName: p.Spec.NodeName, ServiceAccountName: p.Spec.ServiceAccountName, ImagePullSecrets: p.Spec.ImagePullSecrets,
			Volumes: p.Spec.Volumes, ResourceClaims: p.Spec.ResourceClaims,
		},
	}
	small.Status.ResourceClaimStatuses = p.Status.ResourceClaimStatuses
	small.Status.ExtendedResourceClaimStatus = p.Status.ExtendedResourceClaimStatus
	if mirrored, is := p.Annotations[corev1.MirrorPodAnnotationKey]; is {
		small.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: mirrored}
	}
	small.Spec.Containers = environments(p)
	return small, nil
}

// environments returns the references in all containers' environments, as one.
func environments(p *corev1.Pod) []corev1.Container {
	var all corev1.Container
	add := func(env []corev1.EnvVar, from []corev1.EnvFromSource) {
		all.EnvFrom = append(all.EnvFrom, from...)
		for _, e := range env {
			if e.ValueFrom != nil {
				all.Env = append(all.Env, corev1.EnvVar{ValueFrom: e.ValueFrom})
			}
		}
	}
	for _, c := range p.Spec.InitContainers {
		add(c.Env, c.EnvFrom)
	}
	for _, c := range p.Spec.Containers {
		add(c.Env, c.EnvFrom)
	}
	for _, c := range p.Spec.EphemeralContainers {
		add(c.Env, c.EnvFrom)
	}
	if all.Env == nil && all.EnvFrom == nil {
		return nil
	}
	return []corev1.Container{all}
}
