package admission

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"triplane/generic/admission"
	"triplane/kubeapi/group"
)

// serviceAccount gives each pod an account, and its containers the account's token
// as a projected volume; it refuses pods whose account does not exist, and, where
// the account says so, pods that use secrets that it does not list.
//
// Options: none. Metrics: none. Order: before PodSecurity, which validates the volumes that it adds.
type serviceAccount struct{ stores *group.Stores }

func newServiceAccount(d *Dependencies) admission.Interface {
	return &serviceAccount{stores: d.Stores}
}

const (
	tokenMountPath      = "/var/run/secrets/kubernetes.io/serviceaccount"
	tokenVolumePrefix   = "kube-api-access-"
	tokenSeconds        = int64(3607) // an hour, and odd, to be known again
	enforceMountable    = "kubernetes.io/enforce-mountable-secrets"
	rootCAConfigMap     = "kube-root-ca.crt"
	mirrorPodAnnotation = corev1.MirrorPodAnnotationKey
)

// Handles implements admission.Interface.
func (*serviceAccount) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Admit implements admission.MutatingInterface.
func (s *serviceAccount) Admit(ctx context.Context, a *admission.Attributes) error {
	p := podOf(a)
	if p == nil || a.Operation != admission.Create {
		return nil
	}
	if _, mirror := p.Annotations[mirrorPodAnnotation]; mirror {
		return s.Validate(ctx, a)
	}
	if p.Spec.ServiceAccountName == "" {
		p.Spec.ServiceAccountName = "default"
	}
	p.Spec.DeprecatedServiceAccount = p.Spec.ServiceAccountName
	account, err := s.account(ctx, a, p)
	if err != nil {
		return err
	}
	if mounts(account, p) {
		mountToken(p)
	}
	if len(p.Spec.ImagePullSecrets) == 0 {
		p.Spec.ImagePullSecrets = append([]corev1.LocalObjectReference(nil), account.ImagePullSecrets...)
	}
	return s.checkSecrets(a, p, account)
}

// Validate implements admission.ValidatingInterface.
func (s *serviceAccount) Validate(ctx context.Context, a *admission.Attributes) error {
	if a.Operation == admission.Update {
		return s.judgeEphemeral(ctx, a)
	}
	p := podOf(a)
	if p == nil {
		return nil
	}
	if _, mirror := p.Annotations[mirrorPodAnnotation]; mirror {
		return judgeMirror(a, p)
	}
	account, err := s.account(ctx, a, p)
	if err != nil {
		return err
	}
	return s.checkSecrets(a, p, account)
}

func judgeMirror(a *admission.Attributes, p *corev1.Pod) error {
	if p.Spec.ServiceAccountName != "" {
		return forbidden(a, "a mirror pod may not reference service accounts")
	}
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		if v.Secret != nil {
			return forbidden(a, "a mirror pod may not reference secrets")
		}
		if v.Projected != nil {
			for _, src := range v.Projected.Sources {
				if src.ServiceAccountToken != nil {
					return forbidden(a, "a mirror pod may not use ServiceAccountToken volume projections")
				}
			}
		}
	}
	return nil
}

func (s *serviceAccount) account(ctx context.Context, a *admission.Attributes, p *corev1.Pod) (*corev1.ServiceAccount, error) {
	name := p.Spec.ServiceAccountName
	account, err := group.GetNew[*corev1.ServiceAccount](ctx, s.stores, core("serviceaccounts"), a.Namespace, name)
	if apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) {
		return nil, forbidden(a, "error looking up service account %s/%s: serviceaccount %q not found", a.Namespace, name, name)
	}
	return account, err
}

// mounts reports whether the token is wanted; the pod has the last word.
func mounts(account *corev1.ServiceAccount, p *corev1.Pod) bool {
	if m := p.Spec.AutomountServiceAccountToken; m != nil {
		return *m
	}
	return account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken
}

// mountToken mounts the token wherever a container has nothing at its place.
func mountToken(p *corev1.Pod) {
	volume := ""
	for i := range p.Spec.Volumes {
		if strings.HasPrefix(p.Spec.Volumes[i].Name, tokenVolumePrefix) {
			volume = p.Spec.Volumes[i].Name
			break
		}
	}
	present := volume != ""
	if !present {
		volume = tokenVolumePrefix + utilrand.String(5)
	}
	used := false
	for _, cs := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range cs {
			if !hasMount(&cs[i]) {
				cs[i].VolumeMounts = append(cs[i].VolumeMounts, corev1.VolumeMount{Name: volume, ReadOnly: true, MountPath: tokenMountPath})
				used = true
			}
		}
	}
	if used && !present {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: tokenVolume()})
	}
}

func hasMount(c *corev1.Container) bool {
	for i := range c.VolumeMounts {
		if c.VolumeMounts[i].MountPath == tokenMountPath {
			return true
		}
	}
	return false
}

func tokenVolume() corev1.VolumeSource {
	seconds, mode := tokenSeconds, int32(0o644)
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: &mode,
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &seconds}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: rootCAConfigMap},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
			}}}},
		},
	}}
}

// judgeEphemeral holds containers for debugging in pods of strict accounts to the
// secrets that the account names.
func (s *serviceAccount) judgeEphemeral(ctx context.Context, a *admission.Attributes) error {
	p, ok := a.Object.(*corev1.Pod)
	if !ok || a.Subresource != "ephemeralcontainers" {
		return nil
	}
	account, err := s.account(ctx, a, p)
	if err != nil || account.Annotations[enforceMountable] != "true" {
		return err
	}
	mountable := map[string]bool{}
	for _, r := range account.Secrets {
		mountable[r.Name] = true
	}
	for i := range p.Spec.EphemeralContainers {
		c := &p.Spec.EphemeralContainers[i]
		for _, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && !mountable[e.ValueFrom.SecretKeyRef.Name] {
				return fmt.Errorf(`ephemeral container %s with envVar %s referencing secret.secretName="%s" is not allowed because service account %s does not reference that secret`,
					c.Name, e.Name, e.ValueFrom.SecretKeyRef.Name, account.Name)
			}
		}
		for _, e := range c.EnvFrom {
			if e.SecretRef != nil && !mountable[e.SecretRef.Name] {
				return fmt.Errorf(`ephemeral container %s with envFrom referencing secret.secretName="%s" is not allowed because service account %s does not reference that secret`,
					c.Name, e.SecretRef.Name, account.Name)
			}
		}
	}
	return nil
}

// checkSecrets holds pods of strict accounts to the secrets that the account names.
func (s *serviceAccount) checkSecrets(a *admission.Attributes, p *corev1.Pod, account *corev1.ServiceAccount) error {
	if account.Annotations[enforceMountable] != "true" {
		return nil
	}
	mountable, pullable := map[string]bool{}, map[string]bool{}
	for _, r := range account.Secrets {
		mountable[r.Name] = true
	}
	for _, r := range account.ImagePullSecrets {
		pullable[r.Name] = true
	}
	refuse := func(what string, args ...any) error {
		return forbidden(a, "%s is not allowed because service account %s does not reference that secret", fmt.Sprintf(what, args...), account.Name)
	}
	for i := range p.Spec.Volumes {
		if v := p.Spec.Volumes[i].Secret; v != nil && !mountable[v.SecretName] {
			return refuse(`volume with secret.secretName="%s"`, v.SecretName)
		}
	}
	for _, list := range []struct {
		kind string
		cs   []corev1.Container
	}{{"init container", p.Spec.InitContainers}, {"container", p.Spec.Containers}} {
		for i := range list.cs {
			c := &list.cs[i]
			for _, e := range c.Env {
				if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && !mountable[e.ValueFrom.SecretKeyRef.Name] {
					return refuse(`%s %s with envVar %s referencing secret.secretName="%s"`, list.kind, c.Name, e.Name, e.ValueFrom.SecretKeyRef.Name)
				}
			}
			for _, e := range c.EnvFrom {
				if e.SecretRef != nil && !mountable[e.SecretRef.Name] {
					return refuse(`%s %s with envFrom referencing secret.secretName="%s"`, list.kind, c.Name, e.SecretRef.Name)
				}
			}
		}
	}
	for i, r := range p.Spec.ImagePullSecrets {
		if !pullable[r.Name] {
			return forbidden(a, `imagePullSecrets[%d].name="%s" is not allowed because service account %s does not reference that imagePullSecret`, i, r.Name, account.Name)
		}
	}
	return nil
}
