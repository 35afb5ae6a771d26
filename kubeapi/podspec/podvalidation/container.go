package podvalidation

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"triplane.dev/kubeapi/check"
)

func (v *checker) containers(path *field.Path) {
	s, list := v.spec, path.Child("containers")
	if len(s.Containers) == 0 {
		v.Add(field.Required(list, ""))
		return
	}
	names := sets.New[string]()
	for i := range s.Containers {
		c, p := &s.Containers[i], list.Index(i)
		v.container(c, p, false)
		v.uniqueName(c.Name, names, p)
		if c.Lifecycle != nil {
			v.lifecycle(c.Lifecycle, p.Child("lifecycle"))
		}
		v.probe(c.LivenessProbe, p.Child("livenessProbe"), true, true)
		v.probe(c.ReadinessProbe, p.Child("readinessProbe"), false, false)
		v.probe(c.StartupProbe, p.Child("startupProbe"), true, true)
		v.restartRules(c, p)
		v.restartRuleList(c.RestartPolicyRules, p.Child("restartPolicyRules"))
	}
	v.hostPortConflicts(s.Containers, list)
}

// uniqueName refuses the name of a container that another one has.
func (v *checker) uniqueName(name string, seen sets.Set[string], path *field.Path) {
	if seen.Has(name) {
		v.Add(field.Duplicate(path.Child("name"), name))
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
		v.container(c, p, false)
		v.restartRules(c, p)
		if c.RestartPolicy != nil {
			v.restartRuleList(c.RestartPolicyRules, p.Child("restartPolicyRules"))
		}
		if c.Name != "" || names.Has("") {
			v.uniqueName(c.Name, names, p)
		}
		// They run one by one, each with the ports to itself.
		v.hostPortConflicts(v.spec.InitContainers[i:i+1], list)
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
	}
}

// plainInitContainer runs once and then is gone: nothing may watch it.
func (v *checker) plainInitContainer(c *corev1.Container, path *field.Path) {
	const msg = "may not be set for init containers without restartPolicy=Always"
	v.Forbid(c.Lifecycle != nil, path.Child("lifecycle"), msg)
	v.Forbid(c.LivenessProbe != nil, path.Child("livenessProbe"), msg)
	v.Forbid(c.ReadinessProbe != nil, path.Child("readinessProbe"), msg)
	v.Forbid(c.StartupProbe != nil, path.Child("startupProbe"), msg)
}

// restartRules validates what says when a container runs again by itself.
func (v *checker) restartRules(c *corev1.Container, path *field.Path) {
	if c.RestartPolicy != nil {
		v.Add(check.OneOf(*c.RestartPolicy, path.Child("restartPolicy"),
			corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)...)
	}
	if len(c.RestartPolicyRules) > 0 && c.RestartPolicy == nil {
		v.Add(field.Required(path.Child("restartPolicy"), "must specify restartPolicy when restart rules are used"))
	}
}

const (
	maxRestartRules     = 20
	maxRestartExitCodes = 255
)

func (v *checker) restartRuleList(rules []corev1.ContainerRestartRule, list *field.Path) {
	if len(rules) > maxRestartRules {
		v.Add(field.TooMany(list, len(rules), maxRestartRules))
	}
	for i := range rules {
		r, p := &rules[i], list.Index(i)
		actions := []corev1.ContainerRestartRuleAction{corev1.ContainerRestartRuleActionRestart,
			corev1.ContainerRestartRuleActionRestartAllContainers}
		if v.oneRestarts {
			actions = actions[:1]
		}
		v.Add(check.OneOf(r.Action, p.Child("action"), actions...)...)
		if r.ExitCodes == nil {
			v.Add(field.Required(p.Child("exitCodes"), "must be specified"))
			continue
		}
		p = p.Child("exitCodes")
		v.Add(check.OneOf(r.ExitCodes.Operator, p.Child("operator"),
			corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)...)
		if n := len(r.ExitCodes.Values); n > maxRestartExitCodes {
			v.Add(field.TooMany(p.Child("values"), n, maxRestartExitCodes))
		}
	}
}

// container validates what all kinds of containers have in common.
func (v *checker) container(c *corev1.Container, path *field.Path, ephemeral bool) {
	if c.Name == "" {
		v.Add(field.Required(path.Child("name"), ""))
	} else {
		v.Label(c.Name, path.Child("name"))
	}
	if c.Image == "" {
		v.Add(field.Required(path.Child("image"), ""))
	} else if strings.TrimSpace(c.Image) != c.Image && (!v.template || ephemeral) {
		// Templates may have had such images before the rule.
		v.Add(field.Invalid(path.Child("image"), c.Image, "must not have leading or trailing whitespace"))
	}
	if c.TerminationMessagePolicy == "" {
		v.Add(field.Required(path.Child("terminationMessagePolicy"), ""))
	} else {
		v.Add(check.RequiredOneOf(c.TerminationMessagePolicy, path.Child("terminationMessagePolicy"),
			corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)...)
	}
	v.ports(c.Ports, path.Child("ports"))
	v.env(c.Env, path.Child("env"))
	v.envFrom(c.EnvFrom, path.Child("envFrom"))
	v.mounts(c, path)
	v.Add(check.RequiredOneOf(c.ImagePullPolicy, path.Child("imagePullPolicy"), corev1.PullAlways, corev1.PullIfNotPresent,
		corev1.PullNever)...)
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
				v.Messages(msgs, p.Name, path.Child("name"))
			} else if names.Has(p.Name) {
				v.Add(field.Duplicate(path.Child("name"), p.Name))
			} else {
				names.Insert(p.Name)
			}
		}
		if p.ContainerPort == 0 {
			v.Add(field.Required(path.Child("containerPort"), ""))
		} else {
			v.Messages(utilvalidation.IsValidPortNum(int(p.ContainerPort)), p.ContainerPort, path.Child("containerPort"))
		}
		if p.HostPort != 0 {
			v.Messages(utilvalidation.IsValidPortNum(int(p.HostPort)), p.HostPort, path.Child("hostPort"))
		}
		v.Add(check.RequiredOneOf(p.Protocol, path.Child("protocol"), corev1.ProtocolSCTP,
			corev1.ProtocolTCP, corev1.ProtocolUDP)...)
	}
}

// hostNetworkPorts wants the containers of a pod on the host's network to say of
// their ports what they are there.
func (v *checker) hostNetworkPorts(list *field.Path) {
	if !v.spec.HostNetwork {
		return
	}
	for i := range v.spec.Containers {
		for j, p := range v.spec.Containers[i].Ports {
			if p.HostPort != 0 && p.HostPort != p.ContainerPort {
				v.Add(field.Invalid(list.Index(i).Child("ports").Index(j).Child("hostPort"), p.HostPort,
					"must match `containerPort` when `hostNetwork` is true"))
			}
		}
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
				v.Add(field.Duplicate(list.Index(i).Child("ports").Index(j).Child("hostPort"), key))
			}
			seen.Insert(key)
		}
	}
}
