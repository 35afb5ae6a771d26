package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation/path"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/sets"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/nodeauthorizer"
)

// defaultAccount is the service account of pods without one; a controller creates it in every namespace.
const defaultAccount = "default"

// serviceAccount sets a service account on each pod, and mounts the account's token into its containers as a
// projected volume. It rejects pods whose account does not exist. If the account requires it, it rejects pods with
// Secrets that the account does not list.
//
// Options: none. Metrics: none. Order: before PodSecurity, which validates the volumes that it adds.
type serviceAccount struct{ stores *group.Stores }

func newServiceAccount(d *Dependencies) admission.Interface {
	return &serviceAccount{stores: d.Stores}
}

const (
	tokenMountPath      = "/var/run/secrets/kubernetes.io/serviceaccount"
	tokenVolumePrefix   = "kube-api-access-"
	tokenSeconds        = int64(3607) // an hour; the extra seconds identify these tokens
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
		p.Spec.ServiceAccountName = defaultAccount
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
	return s.validateSecrets(a, p, account)
}

// Validate implements admission.ValidatingInterface.
func (s *serviceAccount) Validate(ctx context.Context, a *admission.Attributes) error {
	if a.Operation == admission.Update {
		return s.validateEphemeral(ctx, a)
	}
	p := podOf(a)
	if p == nil {
		return nil
	}
	if _, mirror := p.Annotations[mirrorPodAnnotation]; mirror {
		return validateMirror(a, p)
	}
	account, err := s.account(ctx, a, p)
	if err != nil {
		return err
	}
	return s.validateSecrets(a, p, account)
}

func validateMirror(a *admission.Attributes, p *corev1.Pod) error {
	if p.Spec.ServiceAccountName != "" {
		return admission.Forbiddenf(a, "a mirror pod may not reference service accounts")
	}
	if secrets, _ := nodeauthorizer.Refers(p); secrets {
		return admission.Forbiddenf(a, "a mirror pod may not reference secrets")
	}
	for i := range p.Spec.Volumes {
		if v := &p.Spec.Volumes[i]; v.Projected != nil {
			for _, src := range v.Projected.Sources {
				if src.ServiceAccountToken != nil {
					return admission.Forbiddenf(a, "a mirror pod may not use ServiceAccountToken volume projections")
				}
			}
		}
	}
	return nil
}

func (s *serviceAccount) account(
	ctx context.Context, a *admission.Attributes, p *corev1.Pod,
) (*corev1.ServiceAccount, error) {
	name := p.Spec.ServiceAccountName
	account, err := s.find(ctx, a.Namespace, name)
	if apierrors.IsNotFound(err) && name == defaultAccount {
		account, err = s.await(ctx, a.Namespace)
	}
	if msgs := path.IsValidPathSegmentName(name); apierrors.IsBadRequest(err) && len(msgs) > 0 {
		return nil, admission.Forbiddenf(a,
			"error looking up service account %s/%s: invalid resource name %q: %v", a.Namespace,
			name, name, msgs)
	}
	if apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) {
		return nil, admission.Forbiddenf(a,
			"error looking up service account %s/%s: serviceaccount %q not found", a.Namespace,
			name, name)
	}
	return account, err
}

func (s *serviceAccount) find(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return group.ServiceAccounts(s.stores).GetShared(ctx, namespace, name)
}

// await waits up to a second for a namespace's default account, because a controller creates it soon after the
// namespace.
func (s *serviceAccount) await(ctx context.Context, namespace string) (*corev1.ServiceAccount, error) {
	limit, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	often := time.NewTicker(50 * time.Millisecond)
	defer often.Stop()
	for {
		account, err := s.find(ctx, namespace, defaultAccount)
		if !apierrors.IsNotFound(err) {
			return account, err
		}
		select {
		case <-often.C:
		case <-limit.Done():
			return nil, err
		}
	}
}

// mounts reports whether the token is mounted; the pod's setting takes precedence.
func mounts(account *corev1.ServiceAccount, p *corev1.Pod) bool {
	if m := p.Spec.AutomountServiceAccountToken; m != nil {
		return *m
	}
	return account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken
}

// mountToken mounts the token into all containers that have no mount at its path.
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
				cs[i].VolumeMounts = append(cs[i].VolumeMounts,
					corev1.VolumeMount{Name: volume, ReadOnly: true, MountPath: tokenMountPath})
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
				Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1",
					FieldPath: "metadata.namespace"},
			}}}},
		},
	}}
}

// validateEphemeral restricts ephemeral containers in pods of strict accounts to Secrets that the account lists.
func (s *serviceAccount) validateEphemeral(ctx context.Context, a *admission.Attributes) error {
	p, ok := a.Object.(*corev1.Pod)
	if !ok || a.Subresource != "ephemeralcontainers" {
		return nil
	}
	account, err := s.account(ctx, a, p)
	if err != nil || !strict(account) {
		return err
	}
	for i := range p.Spec.EphemeralContainers {
		c := &p.Spec.EphemeralContainers[i]
		if what := foreignSecret(c.Env, c.EnvFrom, secretsOf(account)); what != "" {
			// kube-apiserver returns a plain error here, so the response is a 500.
			return errors.New("ephemeral container " + c.Name + " with " + notReferenced(what, account))
		}
	}
	return nil
}

// strict reports whether pods of the account may use only Secrets that it lists.
func strict(account *corev1.ServiceAccount) bool {
	yes, err := strconv.ParseBool(account.Annotations[enforceMountable])
	return err == nil && yes
}

func secretsOf(account *corev1.ServiceAccount) sets.Set[string] {
	names := sets.New[string]()
	for i := range account.Secrets {
		names.Insert(account.Secrets[i].Name)
	}
	return names
}

func forbiddenSecret(a *admission.Attributes, what string, account *corev1.ServiceAccount) error {
	return admission.Forbiddenf(a, "%s", notReferenced(what, account))
}

func notReferenced(what string, account *corev1.ServiceAccount) string {
	return fmt.Sprintf("%s is not allowed because service account %s does not reference that secret", what,
		account.Name)
}

// foreignSecret describes the first reference of a container's environment to a Secret that is not mountable, ""
// if there is none.
func foreignSecret(env []corev1.EnvVar, from []corev1.EnvFromSource, mountable sets.Set[string]) string {
	for i := range env {
		if v := env[i].ValueFrom; v != nil && v.SecretKeyRef != nil && !mountable.Has(v.SecretKeyRef.Name) {
			return fmt.Sprintf(`envVar %s referencing secret.secretName="%s"`, env[i].Name, v.SecretKeyRef.Name)
		}
	}
	for i := range from {
		if r := from[i].SecretRef; r != nil && !mountable.Has(r.Name) {
			return fmt.Sprintf(`envFrom referencing secret.secretName="%s"`, r.Name)
		}
	}
	return ""
}

// foreignVolume describes a mounted Secret that is not mountable, "" if there is none. kube-apiserver ignores
// projected volumes here, so its pods can mount any Secret with them.
func foreignVolume(v *corev1.Volume, mountable sets.Set[string]) string {
	if v.Secret != nil && !mountable.Has(v.Secret.SecretName) {
		return fmt.Sprintf(`volume with secret.secretName="%s"`, v.Secret.SecretName)
	}
	if v.Projected == nil {
		return ""
	}
	for i := range v.Projected.Sources {
		if s := v.Projected.Sources[i].Secret; s != nil && !mountable.Has(s.Name) {
			return fmt.Sprintf(`volume with projected secret.name="%s"`, s.Name)
		}
	}
	return ""
}

// validateSecrets restricts pods of strict accounts to Secrets that the account lists.
func (*serviceAccount) validateSecrets(a *admission.Attributes, p *corev1.Pod, account *corev1.ServiceAccount) error {
	if !strict(account) {
		return nil
	}
	mountable := secretsOf(account)
	for i := range p.Spec.Volumes {
		if what := foreignVolume(&p.Spec.Volumes[i], mountable); what != "" {
			return forbiddenSecret(a, what, account)
		}
	}
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		if what := foreignSecret(c.Env, c.EnvFrom, mountable); what != "" {
			return forbiddenSecret(a, "init container "+c.Name+" with "+what, account)
		}
	}
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		if what := foreignSecret(c.Env, c.EnvFrom, mountable); what != "" {
			return forbiddenSecret(a, "container "+c.Name+" with "+what, account)
		}
	}
	for i, r := range p.Spec.ImagePullSecrets {
		if !slices.Contains(account.ImagePullSecrets, r) {
			return admission.Forbiddenf(a,
				`imagePullSecrets[%d].name="%s" is not allowed because service account %s does not reference that imagePullSecret`,
				i, r.Name, account.Name)
		}
	}
	return nil
}
