package podspec

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (v *checker) containers(path *field.Path) {
	s, list := v.spec, path.Child("containers")
	if len(s.Containers) == 0 {
		v.add(field.Required(list, ""))
		return
	}
	names := sets.New[string]()
	for i := range s.Containers {
		c, p := &s.Containers[i], list.Index(i)
		v.containerName(c.Name, names, p)
		v.container(c, p)
		if c.Lifecycle != nil {
			v.lifecycle(c.Lifecycle, p.Child("lifecycle"))
		}
		v.probe(c.LivenessProbe, p.Child("livenessProbe"), true, true)
		v.probe(c.ReadinessProbe, p.Child("readinessProbe"), false, false)
		v.probe(c.StartupProbe, p.Child("startupProbe"), true, true)
		v.restartRules(c, p)
	}
	v.hostPortConflicts(s.Containers, list)
}

func (v *checker) containerName(name string, seen sets.Set[string], path *field.Path) {
	switch {
	case name == "":
		v.add(field.Required(path.Child("name"), ""))
	case seen.Has(name):
		v.add(field.Duplicate(path.Child("name"), name))
	default:
		v.label(name, path.Child("name"))
	}
	seen.Insert(name)
}

func (v *checker) initContainers(list *field.Path) {
	names := sets.New[string]()
	for i := range v.spec.Containers {
		names.Insert(v.spec.Containers[i].Name)
	}
	for i := range v.spec.InitContainers {
		c, p := &v.spec.InitContainers[i], list.Index(i)
		v.containerName(c.Name, names, p)
		v.container(c, p)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			if c.Lifecycle != nil {
				v.lifecycle(c.Lifecycle, p.Child("lifecycle"))
			}
			v.probe(c.LivenessProbe, p.Child("livenessProbe"), true, true)
			v.probe(c.ReadinessProbe, p.Child("readinessProbe"), false, false)
			v.probe(c.StartupProbe, p.Child("startupProbe"), true, true)
		} else {
			v.plainInitContainer(c, p)
		}
		v.restartRules(c, p)
	}
}

// plainInitContainer runs once and then is gone: nothing may watch it.
func (v *checker) plainInitContainer(c *corev1.Container, path *field.Path) {
	const msg = "may not be set for init containers without restartPolicy=Always"
	for _, f := range []struct {
		name string
		set  bool
	}{{"lifecycle", c.Lifecycle != nil}, {"livenessProbe", c.LivenessProbe != nil}, {"readinessProbe", c.ReadinessProbe != nil}, {"startupProbe", c.StartupProbe != nil}} {
		if f.set {
			v.add(field.Forbidden(path.Child(f.name), msg))
		}
	}
}

func (v *checker) restartRules(c *corev1.Container, path *field.Path) {
	if c.RestartPolicy != nil {
		oneOfOrEmpty(v, *c.RestartPolicy, path.Child("restartPolicy"),
			corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)
	}
	if len(c.RestartPolicyRules) > 0 && c.RestartPolicy == nil {
		v.add(field.Required(path.Child("restartPolicy"), "must specify restartPolicy when restart rules are used"))
	}
	if len(c.RestartPolicyRules) > 20 {
		v.add(field.TooMany(path.Child("restartPolicyRules"), len(c.RestartPolicyRules), 20))
	}
	for i := range c.RestartPolicyRules {
		r, p := &c.RestartPolicyRules[i], path.Child("restartPolicyRules").Index(i)
		oneOfOrEmpty(v, r.Action, p.Child("action"), corev1.ContainerRestartRuleActionRestart, "RestartAllContainers")
		if r.ExitCodes == nil {
			v.add(field.Required(p.Child("exitCodes"), "must be specified"))
			continue
		}
		oneOfOrEmpty(v, r.ExitCodes.Operator, p.Child("exitCodes", "operator"),
			corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)
		if len(r.ExitCodes.Values) > 255 {
			v.add(field.TooMany(p.Child("exitCodes", "values"), len(r.ExitCodes.Values), 255))
		}
	}
}

// container validates what all kinds of containers have in common but the name.
func (v *checker) container(c *corev1.Container, path *field.Path) {
	if c.Image == "" {
		v.add(field.Required(path.Child("image"), ""))
	} else if strings.TrimSpace(c.Image) != c.Image {
		v.add(field.Invalid(path.Child("image"), c.Image, "must not have leading or trailing whitespace"))
	}
	if c.TerminationMessagePolicy == "" {
		v.add(field.Required(path.Child("terminationMessagePolicy"), ""))
	} else {
		oneOf(v, c.TerminationMessagePolicy, path.Child("terminationMessagePolicy"), corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	}
	v.ports(c.Ports, path.Child("ports"))
	v.env(c.Env, path.Child("env"))
	v.envFrom(c.EnvFrom, path.Child("envFrom"))
	v.mounts(c, path)
	oneOf(v, c.ImagePullPolicy, path.Child("imagePullPolicy"), corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	v.containerResources(&c.Resources, path.Child("resources"))
	v.resizePolicy(c.ResizePolicy, path.Child("resizePolicy"))
	v.containerSecurity(c, path.Child("securityContext"))
}

func (v *checker) ports(ports []corev1.ContainerPort, list *field.Path) {
	names := sets.New[string]()
	for i := range ports {
		p, path := &ports[i], list.Index(i)
		if p.Name != "" {
			if msgs := utilvalidation.IsValidPortName(p.Name); len(msgs) > 0 {
				v.messages(msgs, p.Name, path.Child("name"))
			} else if names.Has(p.Name) {
				v.add(field.Duplicate(path.Child("name"), p.Name))
			} else {
				names.Insert(p.Name)
			}
		}
		if p.ContainerPort == 0 {
			v.add(field.Required(path.Child("containerPort"), ""))
		} else {
			v.messages(utilvalidation.IsValidPortNum(int(p.ContainerPort)), p.ContainerPort, path.Child("containerPort"))
		}
		if p.HostPort != 0 {
			v.messages(utilvalidation.IsValidPortNum(int(p.HostPort)), p.HostPort, path.Child("hostPort"))
			if v.spec.HostNetwork && p.HostPort != p.ContainerPort {
				v.add(field.Invalid(path.Child("hostPort"), p.HostPort, "must match `containerPort` when `hostNetwork` is true"))
			}
		}
		oneOf(v, p.Protocol, path.Child("protocol"), corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)
	}
}

func (v *checker) hostPortConflicts(cs []corev1.Container, list *field.Path) {
	seen := sets.New[string]()
	for i := range cs {
		for j := range cs[i].Ports {
			p := &cs[i].Ports[j]
			if p.HostPort == 0 {
				continue
			}
			key := string(p.Protocol) + "/" + p.HostIP + "/" + strconv.Itoa(int(p.HostPort))
			if seen.Has(key) {
				v.add(field.Duplicate(list.Index(i).Child("ports").Index(j).Child("hostPort"), key))
			}
			seen.Insert(key)
		}
	}
}

func (v *checker) env(env []corev1.EnvVar, list *field.Path) {
	for i := range env {
		e, p := &env[i], list.Index(i)
		if e.Name == "" {
			v.add(field.Required(p.Child("name"), ""))
		} else {
			v.messages(utilvalidation.IsRelaxedEnvVarName(e.Name), e.Name, p.Child("name"))
		}
		if e.ValueFrom != nil {
			v.envSource(e, p.Child("valueFrom"))
		}
	}
}

func (v *checker) envSource(e *corev1.EnvVar, path *field.Path) {
	from, n := e.ValueFrom, 0
	if r := from.FieldRef; r != nil {
		n++
		v.fieldRef(r, path.Child("fieldRef"), envFields)
	}
	if r := from.ResourceFieldRef; r != nil {
		n++
		v.resourceFieldRef(r, path.Child("resourceFieldRef"), false)
	}
	if r := from.ConfigMapKeyRef; r != nil {
		n++
		v.keyRef(r.Name, r.Key, path.Child("configMapKeyRef"))
	}
	if r := from.SecretKeyRef; r != nil {
		n++
		v.keyRef(r.Name, r.Key, path.Child("secretKeyRef"))
	}
	if from.FileKeyRef != nil {
		n++
	}
	if n == 0 {
		v.add(field.Invalid(path, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	} else if e.Value != "" {
		v.add(field.Invalid(path, "", "may not be specified when `value` is not empty"))
	} else if n > 1 {
		v.add(field.Invalid(path, "", "may not have more than one field specified at a time"))
	}
}

func (v *checker) keyRef(name, key string, path *field.Path) {
	if name == "" {
		v.add(field.Required(path.Child("name"), ""))
	}
	if key == "" {
		v.add(field.Required(path.Child("key"), ""))
	} else {
		v.messages(utilvalidation.IsConfigMapKey(key), key, path.Child("key"))
	}
}

func (v *checker) envFrom(from []corev1.EnvFromSource, list *field.Path) {
	for i := range from {
		f, p := &from[i], list.Index(i)
		if f.Prefix != "" {
			v.messages(utilvalidation.IsRelaxedEnvVarName(f.Prefix), f.Prefix, p.Child("prefix"))
		}
		if f.ConfigMapRef != nil && f.ConfigMapRef.Name == "" {
			v.add(field.Required(p.Child("configMapRef", "name"), ""))
		}
		if f.SecretRef != nil && f.SecretRef.Name == "" {
			v.add(field.Required(p.Child("secretRef", "name"), ""))
		}
		switch {
		case f.ConfigMapRef == nil && f.SecretRef == nil:
			v.add(field.Invalid(p, "", "must specify one of: `configMapRef` or `secretRef`"))
		case f.ConfigMapRef != nil && f.SecretRef != nil:
			v.add(field.Invalid(p, "", "may not have more than one field specified at a time"))
		}
	}
}
