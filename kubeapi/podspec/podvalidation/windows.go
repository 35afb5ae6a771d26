package podvalidation

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"triplane.dev/kubeapi/podspec"
)

const (
	maxCredentialSpec = 64 // KiB
	maxUserDomain     = 256
	maxUserName       = 104
	badUserChars      = `"/\:;|=,+*?<>@[]`
)

var (
	controlChars  = regexp.MustCompile(`[[:cntrl:]]+`)
	netBiosDomain = regexp.MustCompile(`^[^\\/:\*\?"<>|\.][^\\/:\*\?"<>|]{0,14}$`)
	dnsDomain     = regexp.MustCompile(`^([a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`)
	dotsAndSpaces = regexp.MustCompile(`^[. ]+$`)
)

func (v *checker) windowsOptions(o *corev1.WindowsSecurityContextOptions, path *field.Path) {
	if o == nil {
		return
	}
	if n := o.GMSACredentialSpecName; n != nil {
		v.Subdomain(*n, path.Child("gmsaCredentialSpecName"))
	}
	if s := o.GMSACredentialSpec; s != nil {
		switch p := path.Child("gmsaCredentialSpec"); {
		case *s == "":
			v.Add(field.Invalid(p, *s, "gmsaCredentialSpec cannot be an empty string"))
		case len(*s) > maxCredentialSpec<<10:
			v.Add(field.Invalid(p, *s, fmt.Sprintf("gmsaCredentialSpec size must be under %d KiB", maxCredentialSpec)))
		}
	}
	if n := o.RunAsUserName; n != nil {
		v.windowsUser(*n, path.Child("runAsUserName"))
	}
}

// windowsUser validates the name of a user: USER or DOMAIN\USER.
func (v *checker) windowsUser(name string, path *field.Path) {
	bad := func(format string, args ...any) {
		v.Add(field.Invalid(path, name, "runAsUserName"+fmt.Sprintf(format, args...)))
	}
	domain, user, hasDomain := strings.Cut(name, `\`)
	switch {
	case name == "":
		bad(" cannot be an empty string")
		return
	case controlChars.MatchString(name):
		bad(" cannot contain control characters")
		return
	case strings.Count(name, `\`) > 1:
		bad(" cannot contain more than one backslash")
		return
	case !hasDomain:
		user = name
	case len(domain) >= maxUserDomain:
		bad("'s Domain length must be under %d characters", maxUserDomain)
	case !netBiosDomain.MatchString(domain) && !dnsDomain.MatchString(domain):
		bad("'s Domain doesn't match the NetBios nor the DNS format")
	}
	if user == "" {
		bad("'s User cannot be empty")
	} else if len(user) > maxUserName {
		bad("'s User length must not be longer than %d characters", maxUserName)
	}
	if dotsAndSpaces.MatchString(user) {
		bad("'s User cannot contain only periods or spaces")
	}
	if strings.ContainsAny(user, badUserChars) {
		bad("'s User cannot contain the following characters: %s", badUserChars)
	}
}

// hostProcess holds containers that run on a Windows host itself to be alone and
// in the host's network.
func (v *checker) hostProcess(path *field.Path) {
	var pod *bool
	if sc := v.spec.SecurityContext; sc != nil && sc.WindowsOptions != nil {
		pod = sc.WindowsOptions.HostProcess
	}
	all, onHost := 0, 0
	podspec.VisitContainers(v.spec, path, func(c *corev1.Container, p *field.Path) {
		all++
		own := pod
		if sc := c.SecurityContext; sc != nil && sc.WindowsOptions != nil && sc.WindowsOptions.HostProcess != nil {
			own = sc.WindowsOptions.HostProcess
			if pod != nil && *pod != *own {
				v.Add(field.Invalid(p.Child("securityContext", "windowsOptions", "hostProcess"), *own,
					fmt.Sprintf("pod hostProcess value must be identical if both are specified, was %v", *pod)))
			}
		}
		if own != nil && *own {
			onHost++
		}
	})
	if onHost == 0 {
		return
	}
	if onHost != all {
		v.Add(field.Invalid(path, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers"))
	}
	if !v.spec.HostNetwork {
		v.Add(field.Invalid(path.Child("hostNetwork"), false,
			"hostNetwork must be true if pod contains any hostProcess containers"))
	}
}

// os validates the operating system, and that nothing of another one is asked for.
func (v *checker) os(path *field.Path) {
	if v.spec.OS == nil {
		return
	}
	switch v.spec.OS.Name {
	case "":
		v.Add(field.Required(path.Child("os", "name"), ""))
	case corev1.Linux:
		v.linux(path)
	case corev1.Windows:
		v.windows(path)
	default:
		v.Add(field.NotSupported(path.Child("os"), v.spec.OS.Name, []corev1.OSName{corev1.Linux, corev1.Windows}))
	}
}

func (v *checker) linux(path *field.Path) {
	const msg = "windows options cannot be set for a linux pod"
	if sc := v.spec.SecurityContext; sc != nil && sc.WindowsOptions != nil {
		v.Add(field.Forbidden(path.Child("securityContext", "windowsOptions"), msg))
	}
	podspec.VisitContainers(v.spec, path, func(c *corev1.Container, p *field.Path) {
		if c.SecurityContext != nil && c.SecurityContext.WindowsOptions != nil {
			v.Add(field.Forbidden(p.Child("securityContext", "windowsOptions"), msg))
		}
	})
}

// setting is a field and whether it is set.
type setting struct {
	path *field.Path
	set  bool
}

func (v *checker) windows(path *field.Path) {
	s := v.spec
	if sc := s.SecurityContext; sc != nil {
		p := path.Child("securityContext")
		v.notForWindows([]setting{
			{p.Child("appArmorProfile"), sc.AppArmorProfile != nil},
			{p.Child("seLinuxOptions"), sc.SELinuxOptions != nil},
			{p.Child("seccompProfile"), sc.SeccompProfile != nil},
			{p.Child("fsGroup"), sc.FSGroup != nil},
			{p.Child("fsGroupChangePolicy"), sc.FSGroupChangePolicy != nil},
			{p.Child("sysctls"), len(sc.Sysctls) > 0},
			{p.Child("runAsUser"), sc.RunAsUser != nil},
			{p.Child("runAsGroup"), sc.RunAsGroup != nil},
			{p.Child("supplementalGroups"), sc.SupplementalGroups != nil},
			{p.Child("supplementalGroupsPolicy"), sc.SupplementalGroupsPolicy != nil},
			{p.Child("seLinuxChangePolicy"), sc.SELinuxChangePolicy != nil},
			{path.Child("hostUsers"), s.HostUsers != nil},
			{path.Child("hostPID"), s.HostPID},
			{path.Child("hostIPC"), s.HostIPC},
			{path.Child("shareProcessNamespace"), s.ShareProcessNamespace != nil},
		})
	}
	podspec.VisitContainers(s, path, func(c *corev1.Container, p *field.Path) {
		sc := c.SecurityContext
		if sc == nil {
			return
		}
		p = p.Child("securityContext")
		v.notForWindows([]setting{
			{p.Child("appArmorProfile"), sc.AppArmorProfile != nil},
			{p.Child("seLinuxOptions"), sc.SELinuxOptions != nil},
			{p.Child("seccompProfile"), sc.SeccompProfile != nil},
			{p.Child("capabilities"), sc.Capabilities != nil},
			{p.Child("readOnlyRootFilesystem"), sc.ReadOnlyRootFilesystem != nil},
			{p.Child("privileged"), sc.Privileged != nil},
			{p.Child("allowPrivilegeEscalation"), sc.AllowPrivilegeEscalation != nil},
			{p.Child("procMount"), sc.ProcMount != nil},
			{p.Child("runAsUser"), sc.RunAsUser != nil},
			{p.Child("runAsGroup"), sc.RunAsGroup != nil},
		})
	})
}

func (v *checker) notForWindows(list []setting) {
	for _, s := range list {
		if s.set {
			v.Add(field.Forbidden(s.path, "cannot be set for a windows pod"))
		}
	}
}
