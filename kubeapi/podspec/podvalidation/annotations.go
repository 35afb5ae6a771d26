package podvalidation

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"triplane.dev/kubeapi/podspec"
)

// Annotations validates the annotations of a pod or template that mean
// something to the system.
func Annotations(annotations map[string]string, s *corev1.PodSpec, path *field.Path) field.ErrorList {
	if len(annotations) == 0 {
		return nil
	}
	var errs field.ErrorList
	if v, mirror := annotations[corev1.MirrorPodAnnotationKey]; mirror && s.NodeName == "" {
		errs = append(errs, field.Invalid(path.Key(corev1.MirrorPodAnnotationKey), v,
			"must set spec.nodeName if mirror pod annotation is set"))
	}
	if v, ok := annotations[corev1.PodDeletionCost]; ok && !isCost(v) {
		errs = append(errs, field.Invalid(path.Key(corev1.PodDeletionCost), v, "must be a 32bit integer"))
	}
	errs = append(errs, seccompAnnotations(annotations, path)...)
	for _, k := range sets.List(sets.KeySet(annotations)) {
		if name, ok := strings.CutPrefix(k, podspec.AppArmorPrefix); ok {
			errs = append(errs, appArmorAnnotation(s, name, annotations[k], path.Key(k))...)
		}
	}
	return errs
}

// isCost reports whether a value is a number, written as Go writes it.
func isCost(value string) bool {
	n, err := strconv.ParseInt(value, 10, 32)
	return err == nil && strconv.FormatInt(n, 10) == value
}

func appArmorAnnotation(s *corev1.PodSpec, container, value string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !hasContainer(s, container) {
		errs = append(errs, field.Invalid(path, container, "container not found"))
	}
	if value != "" && podspec.AppArmorProfile(value) == nil {
		errs = append(errs, field.Invalid(path, value, fmt.Sprintf("invalid AppArmor profile name: %q", value)))
	}
	return errs
}

// ProfilesAgree refuses profiles for seccomp and AppArmor that are others than those of
// annotations (KEP-135, KEP-24). An annotation that names no profile agrees with none.
func ProfilesAgree(annotations map[string]string, s *corev1.PodSpec, spec *field.Path) field.ErrorList {
	errs := seccompAgrees(annotations, s, spec)
	podspec.VisitContainers(s, spec, func(c *corev1.Container, p *field.Path) {
		value, annotated := annotations[podspec.AppArmorPrefix+c.Name]
		profile := podspec.EffectiveAppArmor(s, c)
		if !annotated || profile == nil {
			return
		}
		named := ptr.Deref(podspec.AppArmorProfile(value), corev1.AppArmorProfile{})
		p = p.Child("securityContext", "appArmorProfile")
		switch {
		case profile.Type != named.Type:
			errs = append(errs, field.Forbidden(p.Child("type"), "apparmor type in annotation and field must match"))
		case ptr.Deref(profile.LocalhostProfile, "") != ptr.Deref(named.LocalhostProfile, ""):
			errs = append(errs, field.Forbidden(p.Child("localhostProfile"),
				"apparmor profile in annotation and field must match"))
		}
	})
	return errs
}

// AppArmorKept refuses that a pod's annotations for AppArmor change.
func AppArmorKept(now, old map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, k := range sets.List(sets.KeySet(now).Union(sets.KeySet(old))) {
		if !strings.HasPrefix(k, podspec.AppArmorPrefix) {
			continue
		}
		is, has := now[k]
		was, had := old[k]
		switch {
		case !had:
			errs = append(errs, field.Forbidden(path.Key(k), "may not add AppArmor annotations"))
		case !has || is != was:
			errs = append(errs, field.Forbidden(path.Key(k), "may not remove or update AppArmor annotations"))
		}
	}
	return errs
}

func hasContainer(s *corev1.PodSpec, name string) bool {
	found := false
	podspec.VisitContainers(s, nil, func(c *corev1.Container, _ *field.Path) { found = found || c.Name == name })
	return found
}
