package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// AppArmorPrefix is the prefix of the annotations of containers for AppArmor.
const AppArmorPrefix = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix

// AppArmorProfile returns the profile that the value of an annotation means, nil
// for none.
func AppArmorProfile(value string) *corev1.AppArmorProfile {
	local, isLocal := strings.CutPrefix(value, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	switch {
	case value == corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case value == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	case isLocal:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &local}
	}
	return nil
}

// EffectiveAppArmor returns the profile under which a container runs: its own or that of
// the pod; nil for none.
func EffectiveAppArmor(s *corev1.PodSpec, c *corev1.Container) *corev1.AppArmorProfile {
	if c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
		return c.SecurityContext.AppArmorProfile
	}
	if s.SecurityContext != nil {
		return s.SecurityContext.AppArmorProfile
	}
	return nil
}
