package nodeauthorizer

import corev1 "k8s.io/api/core/v1"

// uses collects what a pod refers to, each object once.
type uses struct {
	namespace string
	seen      map[object]bool
	all       []object
}

func (u *uses) add(k kind, objectName string) {
	o := object{k, u.namespace, objectName}
	if objectName == "" || u.seen[o] {
		return
	}
	u.seen[o] = true
	u.all = append(u.all, o)
}

func (u *uses) local(r *corev1.LocalObjectReference) {
	if r != nil {
		u.add(secret, r.Name)
	}
}

// usesOf lists what the node of a pod has to read for it.
func usesOf(p *corev1.Pod) []object {
	u := &uses{namespace: p.Namespace, seen: map[object]bool{}}
	u.add(serviceAccount, p.Spec.ServiceAccountName)
	for _, s := range p.Spec.ImagePullSecrets {
		u.add(secret, s.Name)
	}
	for _, c := range p.Spec.InitContainers {
		u.environment(c.Env, c.EnvFrom)
	}
	for _, c := range p.Spec.Containers {
		u.environment(c.Env, c.EnvFrom)
	}
	for _, c := range p.Spec.EphemeralContainers {
		u.environment(c.Env, c.EnvFrom)
	}
	for i := range p.Spec.Volumes {
		u.volume(p.Name, &p.Spec.Volumes[i])
	}
	for _, c := range p.Spec.ResourceClaims {
		if c.ResourceClaimName != nil {
			u.add(resourceClaim, *c.ResourceClaimName)
		}
	}
	for _, c := range p.Status.ResourceClaimStatuses {
		if c.ResourceClaimName != nil {
			u.add(resourceClaim, *c.ResourceClaimName)
		}
	}
	if c := p.Status.ExtendedResourceClaimStatus; c != nil {
		u.add(resourceClaim, c.ResourceClaimName)
	}
	return u.all
}

func (u *uses) environment(env []corev1.EnvVar, from []corev1.EnvFromSource) {
	for _, e := range from {
		if e.SecretRef != nil {
			u.add(secret, e.SecretRef.Name)
		}
		if e.ConfigMapRef != nil {
			u.add(configMap, e.ConfigMapRef.Name)
		}
	}
	for _, e := range env {
		if e.ValueFrom == nil {
			continue
		}
		if r := e.ValueFrom.SecretKeyRef; r != nil {
			u.add(secret, r.Name)
		}
		if r := e.ValueFrom.ConfigMapKeyRef; r != nil {
			u.add(configMap, r.Name)
		}
	}
}

func (u *uses) volume(pod string, v *corev1.Volume) {
	switch {
	case v.Secret != nil:
		u.add(secret, v.Secret.SecretName)
	case v.ConfigMap != nil:
		u.add(configMap, v.ConfigMap.Name)
	case v.PersistentVolumeClaim != nil:
		u.add(claim, v.PersistentVolumeClaim.ClaimName)
	case v.Ephemeral != nil:
		u.add(claim, pod+"-"+v.Name)
	case v.Projected != nil:
		u.projected(v.Projected.Sources)
	case v.AzureFile != nil:
		u.add(secret, v.AzureFile.SecretName)
	case v.CephFS != nil:
		u.local(v.CephFS.SecretRef)
	case v.Cinder != nil:
		u.local(v.Cinder.SecretRef)
	case v.FlexVolume != nil:
		u.local(v.FlexVolume.SecretRef)
	case v.RBD != nil:
		u.local(v.RBD.SecretRef)
	case v.ScaleIO != nil:
		u.local(v.ScaleIO.SecretRef)
	case v.ISCSI != nil:
		u.local(v.ISCSI.SecretRef)
	case v.StorageOS != nil:
		u.local(v.StorageOS.SecretRef)
	case v.CSI != nil:
		u.local(v.CSI.NodePublishSecretRef)
	}
}

func (u *uses) projected(sources []corev1.VolumeProjection) {
	for _, s := range sources {
		if s.Secret != nil {
			u.add(secret, s.Secret.Name)
		}
		if s.ConfigMap != nil {
			u.add(configMap, s.ConfigMap.Name)
		}
	}
}

// secretsOfVolume lists the secrets that a node needs to mount a bound volume;
// those that only controllers need are not its business.
func secretsOfVolume(v *corev1.PersistentVolume) []name {
	var found []name
	add := func(r *corev1.SecretReference) {
		if r == nil || r.Name == "" {
			return
		}
		n := name{r.Namespace, r.Name}
		if n.namespace == "" {
			n.namespace = v.Spec.ClaimRef.Namespace
		}
		found = append(found, n)
	}
	source := &v.Spec.PersistentVolumeSource
	switch {
	case source.AzureFile != nil:
		r := &corev1.SecretReference{Name: source.AzureFile.SecretName}
		if source.AzureFile.SecretNamespace != nil {
			r.Namespace = *source.AzureFile.SecretNamespace
		}
		add(r)
	case source.CephFS != nil:
		add(source.CephFS.SecretRef)
	case source.Cinder != nil:
		add(source.Cinder.SecretRef)
	case source.FlexVolume != nil:
		add(source.FlexVolume.SecretRef)
	case source.RBD != nil:
		add(source.RBD.SecretRef)
	case source.ScaleIO != nil:
		add(source.ScaleIO.SecretRef)
	case source.ISCSI != nil:
		add(source.ISCSI.SecretRef)
	case source.StorageOS != nil:
		if r := source.StorageOS.SecretRef; r != nil {
			add(&corev1.SecretReference{Namespace: r.Namespace, Name: r.Name})
		}
	case source.CSI != nil:
		add(source.CSI.NodePublishSecretRef)
		add(source.CSI.NodeStageSecretRef)
		add(source.CSI.NodeExpandSecretRef)
	}
	return found
}
