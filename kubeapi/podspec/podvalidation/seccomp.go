package podvalidation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"triplane.dev/kubeapi/podspec"
)

// seccompAnnotations validates the profiles that annotations of old name, for the pod and
// for containers, which need not exist.
func seccompAnnotations(annotations map[string]string, path *field.Path) field.ErrorList {
	v := &checker{}
	if value, ok := annotations[corev1.SeccompPodAnnotationKey]; ok {
		v.seccompAnnotation(value, path.Child(corev1.SeccompPodAnnotationKey))
	}
	for _, k := range sets.List(sets.KeySet(annotations)) {
		if strings.HasPrefix(k, corev1.SeccompContainerAnnotationKeyPrefix) {
			v.seccompAnnotation(annotations[k], path.Child(k))
		}
	}
	return v.Errors
}

func (v *checker) seccompAnnotation(value string, path *field.Path) {
	switch p := seccompProfile(value); {
	case p == nil:
		v.Add(field.Invalid(path, value, "must be a valid seccomp profile"))
	case p.LocalhostProfile != nil:
		v.RelativePath(*p.LocalhostProfile, path)
	}
}

// seccompProfile returns the profile that the value of an annotation means, nil for none.
func seccompProfile(value string) *corev1.SeccompProfile {
	local, isLocal := strings.CutPrefix(value, corev1.SeccompLocalhostProfileNamePrefix)
	switch {
	case value == corev1.SeccompProfileNameUnconfined:
		return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
	case value == corev1.SeccompProfileRuntimeDefault, value == corev1.DeprecatedSeccompProfileDockerDefault:
		return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	case isLocal:
		return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: &local}
	}
	return nil
}

func seccompAgrees(annotations map[string]string, s *corev1.PodSpec, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	agrees := func(key string, profile *corev1.SeccompProfile, owner *field.Path) {
		value, annotated := annotations[key]
		if !annotated || profile == nil {
			return
		}
		named, path := ptr.Deref(seccompProfile(value), corev1.SeccompProfile{}),
			owner.Child("securityContext", "seccompProfile")
		switch {
		case profile.Type != named.Type:
			errs = append(errs, field.Forbidden(path.Child("type"), "seccomp type in annotation and field must match"))
		case ptr.Deref(profile.LocalhostProfile, "") != ptr.Deref(named.LocalhostProfile, ""):
			errs = append(errs, field.Forbidden(path.Child("localhostProfile"),
				"seccomp profile in annotation and field must match"))
		}
	}
	if s.SecurityContext != nil {
		agrees(corev1.SeccompPodAnnotationKey, s.SecurityContext.SeccompProfile, spec)
	}
	podspec.VisitContainers(s, spec, func(c *corev1.Container, p *field.Path) {
		if c.SecurityContext != nil {
			agrees(corev1.SeccompContainerAnnotationKeyPrefix+c.Name, c.SecurityContext.SeccompProfile, p)
		}
	})
	return errs
}
