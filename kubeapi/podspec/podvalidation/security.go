package podvalidation

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"triplane.dev/kubeapi/check"
)

const sysctlPattern = `^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`

var sysctlName = regexp.MustCompile(sysctlPattern)

// podSecurity validates the security context of the pod and the host's namespaces.
func (v *checker) podSecurity(spec *field.Path) {
	sc, path := v.spec.SecurityContext, spec.Child("securityContext")
	if sc == nil {
		return
	}
	if id := sc.FSGroup; id != nil {
		v.Messages(utilvalidation.IsValidGroupID(*id), *id, path.Child("fsGroup"))
	}
	if id := sc.RunAsUser; id != nil {
		v.Messages(utilvalidation.IsValidUserID(*id), *id, path.Child("runAsUser"))
	}
	if id := sc.RunAsGroup; id != nil {
		v.Messages(utilvalidation.IsValidGroupID(*id), *id, path.Child("runAsGroup"))
	}
	for i, id := range sc.SupplementalGroups {
		v.Messages(utilvalidation.IsValidGroupID(id), id, path.Child("supplementalGroups").Index(i))
	}
	v.hostNamespaces(spec)
	v.sysctls(sc.Sysctls, path.Child("sysctls"))
	if p := sc.FSGroupChangePolicy; p != nil {
		v.Add(check.OneOf(*p, path.Child("fsGroupChangePolicy"), corev1.FSGroupChangeAlways,
			corev1.FSGroupChangeOnRootMismatch)...)
	}
	v.seccomp(sc.SeccompProfile, path.Child("seccompProfile"))
	v.appArmor(sc.AppArmorProfile, path.Child("appArmorProfile"))
	if p := sc.SupplementalGroupsPolicy; p != nil {
		v.Add(check.OneOf(*p, path.Child("supplementalGroupsPolicy"), corev1.SupplementalGroupsPolicyMerge,
			corev1.SupplementalGroupsPolicyStrict)...)
	}
	if p := sc.SELinuxChangePolicy; p != nil {
		policies := []corev1.PodSELinuxChangePolicy{corev1.SELinuxChangePolicyMountOption,
			corev1.SELinuxChangePolicyRecursive}
		if !v.selinuxMounts {
			policies = policies[1:]
		}
		v.Add(check.OneOf(*p, path.Child("seLinuxChangePolicy"), policies...)...)
	}
	v.windowsOptions(sc.WindowsOptions, path.Child("windowsOptions"))
}

func (v *checker) hostNamespaces(spec *field.Path) {
	s := v.spec
	if share := s.ShareProcessNamespace; share != nil && *share && s.HostPID {
		v.Add(field.Invalid(spec.Child("shareProcessNamespace"), *share,
			"ShareProcessNamespace and HostPID cannot both be enabled"))
	}
}

// hostUsers validates what a pod with a user namespace may share with the host.
func (v *checker) hostUsers(spec *field.Path) {
	s := v.spec
	if s.HostUsers == nil || *s.HostUsers {
		return
	}
	const msg = "when `hostUsers` is false"
	if s.HostNetwork && !v.hostNetworkUsers {
		v.Add(field.Forbidden(spec.Child("hostNetwork"), msg))
	}
	if s.HostPID {
		v.Add(field.Forbidden(spec.Child("HostPID"), msg))
	}
	if s.HostIPC {
		v.Add(field.Forbidden(spec.Child("HostIPC"), msg))
	}
	for i := range s.Containers {
		if len(s.Containers[i].VolumeDevices) > 0 {
			v.Add(field.Forbidden(spec.Child("containers").Index(i).Child("volumeDevices"), msg))
		}
	}
}

func (v *checker) sysctls(list []corev1.Sysctl, path *field.Path) {
	names := sets.New[string]()
	for i := range list {
		name, p := list[i].Name, path.Index(i).Child("name")
		switch {
		case name == "":
			v.Add(field.Required(p, ""))
		case len(name) > 253 || !sysctlName.MatchString(name):
			v.Add(field.Invalid(p, name, fmt.Sprintf("must have at most %d characters and match regex %s", 253, sysctlPattern)))
		case names.Has(name):
			v.Add(field.Duplicate(p, name))
		}
		names.Insert(name)
		dotted := strings.ReplaceAll(name, "/", ".")
		if v.spec.HostNetwork && strings.HasPrefix(dotted, "net.") {
			v.Add(field.Invalid(p, name, "may not be specified when 'hostNetwork' is true"))
		}
		if v.spec.HostIPC && (strings.HasPrefix(dotted, "kernel.shm") || strings.HasPrefix(dotted, "kernel.msg") ||
			dotted == "kernel.sem" || strings.HasPrefix(dotted, "fs.mqueue.")) {
			v.Add(field.Invalid(p, name, "may not be specified when 'hostIPC' is true"))
		}
	}
}

func (v *checker) seccomp(s *corev1.SeccompProfile, path *field.Path) {
	if s == nil {
		return
	}
	if s.Type == "" {
		v.Add(field.Required(path.Child("type"), "type is required when seccompProfile is set"))
	} else {
		v.Add(check.OneOf(s.Type, path.Child("type"), corev1.SeccompProfileTypeLocalhost,
			corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)...)
	}
	local := path.Child("localhostProfile")
	switch {
	case s.Type == corev1.SeccompProfileTypeLocalhost && s.LocalhostProfile == nil:
		v.Add(field.Required(local, "must be set when seccomp type is Localhost"))
	case s.Type == corev1.SeccompProfileTypeLocalhost:
		v.RelativePath(*s.LocalhostProfile, local)
	case s.LocalhostProfile != nil:
		v.Add(field.Invalid(local, struct {
			Type             corev1.SeccompProfileType
			LocalhostProfile *string
		}{s.Type, s.LocalhostProfile}, "can only be set when seccomp type is Localhost"))
	}
}

func (v *checker) appArmor(a *corev1.AppArmorProfile, path *field.Path) {
	if a == nil {
		return
	}
	local := path.Child("localhostProfile")
	switch a.Type {
	case corev1.AppArmorProfileTypeLocalhost:
		switch {
		case a.LocalhostProfile == nil:
			v.Add(field.Required(local, "must be set when AppArmor type is Localhost"))
		case strings.TrimSpace(*a.LocalhostProfile) != *a.LocalhostProfile:
			v.Add(field.Invalid(local, *a.LocalhostProfile, "must not be padded with whitespace"))
		case *a.LocalhostProfile == "":
			v.Add(field.Required(local, "must be set when AppArmor type is Localhost"))
		}
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		if a.LocalhostProfile != nil {
			v.Add(field.Invalid(local, *a.LocalhostProfile, "can only be set when AppArmor type is Localhost"))
		}
	case "":
		v.Add(field.Required(path.Child("type"), "type is required when appArmorProfile is set"))
	default:
		v.Add(field.NotSupported(path.Child("type"), a.Type, []corev1.AppArmorProfileType{
			corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined,
		}))
	}
}

func (v *checker) containerSecurity(c *corev1.Container, path *field.Path) {
	sc := c.SecurityContext
	if sc == nil {
		return
	}
	if sc.Privileged != nil && *sc.Privileged && !v.privileged {
		v.Add(field.Forbidden(path.Child("privileged"), "disallowed by cluster policy"))
	}
	if id := sc.RunAsUser; id != nil {
		v.Messages(utilvalidation.IsValidUserID(*id), *id, path.Child("runAsUser"))
	}
	if id := sc.RunAsGroup; id != nil {
		v.Messages(utilvalidation.IsValidGroupID(*id), *id, path.Child("runAsGroup"))
	}
	if p := sc.ProcMount; p != nil {
		v.Add(check.OneOf(*p, path.Child("procMount"), corev1.DefaultProcMount, corev1.UnmaskedProcMount)...)
		if *p == corev1.UnmaskedProcMount && (v.spec.HostUsers == nil || *v.spec.HostUsers) {
			v.Add(field.Invalid(path.Child("procMount"), *p, "`hostUsers` must be false to use `Unmasked`"))
		}
	}
	v.seccomp(sc.SeccompProfile, path.Child("seccompProfile"))
	if e := sc.AllowPrivilegeEscalation; e != nil && !*e {
		if sc.Privileged != nil && *sc.Privileged {
			v.Add(field.Invalid(path, sc, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"))
		}
		if sc.Capabilities != nil {
			for _, capability := range sc.Capabilities.Add {
				if capability == "CAP_SYS_ADMIN" {
					v.Add(field.Invalid(path, sc, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"))
				}
			}
		}
	}
	v.windowsOptions(sc.WindowsOptions, path.Child("windowsOptions"))
	v.appArmor(sc.AppArmorProfile, path.Child("appArmorProfile"))
}
