package podwarnings

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"triplane.dev/kubeapi/podspec"
)

// Template returns warnings about a template at path.
func Template(t *corev1.PodTemplateSpec, path *field.Path) []string {
	w := &warner{}
	w.appArmor = true
	w.spec(&t.Spec, t.Annotations, path)
	return w.texts
}

// Pod returns warnings about a new pod, but those about AppArmor, which come with
// the fields that are set. A pod that changes gets none: people seldom write pods themselves.
func Pod(p *corev1.Pod) []string {
	w := &warner{}
	if msgs := utilvalidation.IsDNS1123Label(p.Name); p.Name != "" && len(msgs) > 0 {
		w.say("metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: %v", msgs)
	}
	w.spec(&p.Spec, p.Annotations, nil)
	return w.texts
}

// AppArmor names the field that replaces the annotation of a container.
func AppArmor(annotations *field.Path, name string) string {
	return fmt.Sprintf("%s: deprecated since v1.30; use the \"appArmorProfile\" field instead",
		annotations.Key(podspec.AppArmorPrefix+name))
}

// spec warns about a pod's or template's spec; path is that of what holds it, nil for
// pods.
func (w *warner) spec(s *corev1.PodSpec, annotations map[string]string, owner *field.Path) {
	path := owner.Child("spec")
	for _, label := range sets.List(sets.KeySet(s.NodeSelector)) {
		w.nodeLabel(label, path.Child("nodeSelector").Key(label))
	}
	w.nodeAffinity(s.Affinity, path.Child("affinity"))
	w.spreading(s.TopologySpreadConstraints, path.Child("topologySpreadConstraints"))
	w.annotations(annotations, owner.Child("metadata", "annotations"))
	for i := range s.Volumes {
		w.volume(&s.Volumes[i], path.Child("volumes").Index(i))
	}
	for i := range s.Volumes {
		w.overlaps(&s.Volumes[i])
	}
	w.hosts(s.HostAliases, path.Child("hostAliases"))
	w.secrets(s.ImagePullSecrets, path.Child("imagePullSecrets"))
	w.bytes(s.Overhead, path.Child("overhead"))
	w.podSeccomp(s, annotations, owner.Child("metadata", "annotations"))
	w.containers(s, annotations, owner)
	w.ports(s, path)
	if g := s.TerminationGracePeriodSeconds; g != nil && *g < 0 {
		w.say("%s: must be >= 0; negative values are invalid and will be treated as 1",
			path.Child("terminationGracePeriodSeconds"))
	}
	w.podAffinity(s.Affinity, path.Child("affinity"))
	w.addresses(s, path)
}

type warner struct {
	texts []string
	// appArmor is set to warn of annotations for AppArmor.
	appArmor bool
}

func (w *warner) say(format string, args ...any) {
	w.texts = append(w.texts, fmt.Sprintf(format, args...))
}

func (w *warner) spreading(list []corev1.TopologySpreadConstraint, path *field.Path) {
	for i := range list {
		c, p := &list[i], path.Index(i)
		w.nodeLabelIs(c.TopologyKey, p.Child("topologyKey"))
		w.nullSelector(c.LabelSelector, p)
	}
}

// nullSelector warns of a selector that is not there: it selects nothing, where
// an empty one selects all.
func (w *warner) nullSelector(s *metav1.LabelSelector, path *field.Path) {
	if s == nil {
		w.say("%s: a null labelSelector results in matching no pod", path.Child("labelSelector"))
	}
}

func (w *warner) nodeAffinity(a *corev1.Affinity, path *field.Path) {
	if a == nil || a.NodeAffinity == nil {
		return
	}
	n, p := a.NodeAffinity, path.Child("nodeAffinity")
	if r := n.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
		for i := range r.NodeSelectorTerms {
			w.nodeTerm(&r.NodeSelectorTerms[i], p.Child(podspec.RequiredTerms, "nodeSelectorTerms").Index(i))
		}
	}
	for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
		preference := &n.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference
		at := p.Child(podspec.PreferredTerms).Index(i).Child("preference")
		w.nodeTerm(preference, at)
		w.labelValues(preference, at)
	}
}

// labelValues warns of values that no label has. Those of required terms are errors.
func (w *warner) labelValues(t *corev1.NodeSelectorTerm, path *field.Path) {
	for i := range t.MatchExpressions {
		for k, value := range t.MatchExpressions[i].Values {
			for _, msg := range utilvalidation.IsValidLabelValue(value) {
				w.say("%s: %s is invalid, %s", path.Child("matchExpressions").Index(i).Child("values").Index(k), value, msg)
			}
		}
	}
}

func (w *warner) podAffinity(a *corev1.Affinity, path *field.Path) {
	if a == nil {
		return
	}
	if x := a.PodAffinity; x != nil {
		w.podTerms(x.RequiredDuringSchedulingIgnoredDuringExecution, x.PreferredDuringSchedulingIgnoredDuringExecution,
			path.Child("podAffinity"))
	}
	if x := a.PodAntiAffinity; x != nil {
		w.podTerms(x.RequiredDuringSchedulingIgnoredDuringExecution, x.PreferredDuringSchedulingIgnoredDuringExecution,
			path.Child("podAntiAffinity"))
	}
}

func (w *warner) nodeTerm(t *corev1.NodeSelectorTerm, path *field.Path) {
	for i := range t.MatchExpressions {
		w.nodeLabelIs(t.MatchExpressions[i].Key, path.Child("matchExpressions").Index(i).Child("key"))
	}
}

func (w *warner) podTerms(terms []corev1.PodAffinityTerm, weighted []corev1.WeightedPodAffinityTerm, path *field.Path) {
	for i := range terms {
		w.nullSelector(terms[i].LabelSelector, path.Child(podspec.RequiredTerms).Index(i))
	}
	for i := range weighted {
		w.nullSelector(weighted[i].PodAffinityTerm.LabelSelector,
			path.Child(podspec.PreferredTerms).Index(i).Child("podAffinityTerm"))
	}
}

// oldAnnotations are annotations that fields came after.
var oldAnnotations = []struct{ key, msg string }{
	{"scheduler.alpha.kubernetes.io/critical-pod",
		"non-functional in v1.16+; use the \"priorityClassName\" field instead"},
	{"security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"},
	{"security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"},
}

func (w *warner) annotations(annotations map[string]string, path *field.Path) {
	for _, o := range oldAnnotations {
		if _, ok := annotations[o.key]; ok {
			w.say("%s: %s", path.Key(o.key), o.msg)
		}
	}
}

// podSeccomp and containerSeccomp warn of annotations for seccomp where the field that came
// after them is not set.
func (w *warner) podSeccomp(s *corev1.PodSpec, annotations map[string]string, path *field.Path) {
	if s.SecurityContext == nil || s.SecurityContext.SeccompProfile == nil {
		w.seccomp(corev1.SeccompPodAnnotationKey, annotations, path)
	}
}

func (w *warner) containerSeccomp(c *corev1.Container, annotations map[string]string, path *field.Path) {
	if c.SecurityContext == nil || c.SecurityContext.SeccompProfile == nil {
		w.seccomp(corev1.SeccompContainerAnnotationKeyPrefix+c.Name, annotations, path)
	}
}

func (w *warner) seccomp(key string, annotations map[string]string, path *field.Path) {
	if _, ok := annotations[key]; ok {
		w.say("%s: non-functional in v1.27+; use the \"seccompProfile\" field instead", path.Key(key))
	}
}

func (w *warner) containerAppArmor(s *corev1.PodSpec, c *corev1.Container, annotations map[string]string,
	path *field.Path) {
	if _, ok := annotations[podspec.AppArmorPrefix+c.Name]; ok && w.appArmor && podspec.EffectiveAppArmor(s, c) == nil {
		w.texts = append(w.texts, AppArmor(path, c.Name))
	}
}

// ClaimSpec returns warnings about the spec of a claim.
func ClaimSpec(s *corev1.PersistentVolumeClaimSpec, path *field.Path) []string {
	w := &warner{}
	w.fraction(s.Resources.Requests, corev1.ResourceStorage, path.Child("resources", "requests"))
	w.fraction(s.Resources.Limits, corev1.ResourceStorage, path.Child("resources", "limits"))
	return w.texts
}

// fraction warns of a part of a byte, which cannot be had.
func (w *warner) fraction(list corev1.ResourceList, name corev1.ResourceName, path *field.Path) {
	if q, ok := list[name]; ok && q.MilliValue()%1000 != 0 {
		w.say("%s: fractional byte value %q is invalid, must be an integer", path.Key(string(name)), q.String())
	}
}

func (w *warner) bytes(list corev1.ResourceList, path *field.Path) {
	w.fraction(list, corev1.ResourceMemory, path)
	w.fraction(list, corev1.ResourceEphemeralStorage, path)
}

func (w *warner) secrets(list []corev1.LocalObjectReference, path *field.Path) {
	secrets := sets.New[string]()
	for i := range list {
		name := list[i].Name
		if secrets.Has(name) {
			w.say("%s: duplicate name %q", path.Index(i).Child("name"), name)
		}
		secrets.Insert(name)
	}
	for i := range list {
		if name := list[i].Name; name == "" {
			w.say("%s: invalid empty name %q", path.Index(i).Child("name"), name)
		}
	}
}

// hosts warns of addresses that appear twice.
func (w *warner) hosts(aliases []corev1.HostAlias, path *field.Path) {
	seen := sets.New[string]()
	for i := range aliases {
		ip := aliases[i].IP
		if seen.Has(ip) {
			w.say("%s: duplicate ip %q", path.Index(i).Child("ip"), ip)
		}
		seen.Insert(ip)
	}
}

// addresses warns of those that are not in canonical form.
func (w *warner) addresses(s *corev1.PodSpec, path *field.Path) {
	if d := s.DNSConfig; d != nil {
		for i, ip := range d.Nameservers {
			w.texts = append(w.texts, utilvalidation.GetWarningsForIP(path.Child("dnsConfig", "nameservers").Index(i), ip)...)
		}
	}
	for i := range s.HostAliases {
		w.texts = append(w.texts, utilvalidation.GetWarningsForIP(path.Child("hostAliases").Index(i).Child("ip"),
			s.HostAliases[i].IP)...)
	}
}

func (w *warner) containers(s *corev1.PodSpec, annotations map[string]string, owner *field.Path) {
	keys := owner.Child("metadata", "annotations")
	podspec.VisitContainers(s, owner.Child("spec"), func(c *corev1.Container, p *field.Path) {
		w.containerSeccomp(c, annotations, keys)
		w.containerAppArmor(s, c, annotations, keys)
		for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
			w.fraction(c.Resources.Limits, name, p.Child("resources", "limits"))
			w.fraction(c.Resources.Requests, name, p.Child("resources", "requests"))
		}
		w.env(c, p)
	})
}

// env warns of variables that hide others, unless they are built from them.
func (w *warner) env(c *corev1.Container, path *field.Path) {
	seen := sets.New[string]()
	for i := range c.Env {
		name := c.Env[i].Name
		if seen.Has(name) && !strings.Contains(c.Env[i].Value, "$("+name+")") {
			w.say("%s: hides previous definition of %q, which may be dropped when using apply", path.Child("env").Index(i), name)
		}
		seen.Insert(name)
	}
}
