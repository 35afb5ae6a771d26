package podspec

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/kubeapi/check"
)

// goSecurityContext is a security context as messages show it.
func goSecurityContext(sc *corev1.SecurityContext) any { return check.GoNames(sc) }

// TemplateWarnings tells what is unwise about a template at path. old is what it
// was before, nil where it is new.
func TemplateWarnings(ctx context.Context, t, old *corev1.PodTemplateSpec, path *field.Path) []string {
	var before *corev1.PodSpec
	if old != nil {
		before = &old.Spec
	}
	return Warnings(ctx, &t.Spec, before, path.Child("spec"))
}

// Warnings tells what is unwise about a pod spec at path.
func Warnings(_ context.Context, s, old *corev1.PodSpec, path *field.Path) []string {
	w := &warner{}
	if s.DeprecatedServiceAccount != "" && s.DeprecatedServiceAccount != s.ServiceAccountName {
		w.say("%s: deprecated in v1.20, use serviceAccountName instead", path.Child("serviceAccount"))
	}
	w.nodeLabels(s, path)
	for i := range s.Volumes {
		w.volume(&s.Volumes[i], path.Child("volumes").Index(i))
	}
	w.duplicates(s, path)
	w.containers(s, path)
	return w.texts
}

type warner struct{ texts []string }

func (w *warner) say(format string, args ...any) {
	w.texts = append(w.texts, fmt.Sprintf(format, args...))
}

// oldNodeLabels are labels of nodes with what came after them.
var oldNodeLabels = map[string]string{
	"beta.kubernetes.io/arch":                  "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
	"beta.kubernetes.io/os":                    "deprecated since v1.14; use \"kubernetes.io/os\" instead",
	"failure-domain.beta.kubernetes.io/region": "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
	"failure-domain.beta.kubernetes.io/zone":   "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
	"beta.kubernetes.io/instance-type":         "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
}

func (w *warner) nodeLabels(s *corev1.PodSpec, path *field.Path) {
	for _, k := range sets.List(sets.KeySet(s.NodeSelector)) {
		if msg, ok := oldNodeLabels[k]; ok {
			w.say("%s: %s", path.Child("nodeSelector").Key(k), msg)
		}
	}
	for i := range s.TopologySpreadConstraints {
		if msg, ok := oldNodeLabels[s.TopologySpreadConstraints[i].TopologyKey]; ok {
			w.say("%s: %s is %s", path.Child("topologySpreadConstraints").Index(i).Child("topologyKey"), s.TopologySpreadConstraints[i].TopologyKey, msg)
		}
	}
}

func (w *warner) volume(v *corev1.Volume, path *field.Path) {
	for _, s := range []struct {
		set       bool
		name, msg string
	}{
		{v.PhotonPersistentDisk != nil, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
		{v.GitRepo != nil, "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
		{v.ScaleIO != nil, "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
		{v.Flocker != nil, "flocker", "deprecated in v1.22, non-functional in v1.25+"},
		{v.StorageOS != nil, "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
		{v.Quobyte != nil, "quobyte", "deprecated in v1.22, non-functional in v1.25+"},
		{v.Glusterfs != nil, "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
		{v.CephFS != nil, "cephfs", "deprecated in v1.28, non-functional in v1.31+"},
		{v.RBD != nil, "rbd", "deprecated in v1.28, non-functional in v1.31+"},
	} {
		if s.set {
			w.say("%s: %s", path.Child(s.name), s.msg)
		}
	}
}

func (w *warner) duplicates(s *corev1.PodSpec, path *field.Path) {
	secrets := sets.New[string]()
	for i := range s.ImagePullSecrets {
		switch name := s.ImagePullSecrets[i].Name; {
		case name == "":
			w.say("%s: invalid empty name %q", path.Child("imagePullSecrets").Index(i).Child("name"), name)
		case secrets.Has(name):
			w.say("%s: duplicate name %q", path.Child("imagePullSecrets").Index(i).Child("name"), name)
		default:
			secrets.Insert(name)
		}
	}
	aliases := sets.New[string]()
	for i := range s.HostAliases {
		if ip := s.HostAliases[i].IP; aliases.Has(ip) {
			w.say("%s: duplicate ip %q", path.Child("hostAliases").Index(i).Child("ip"), ip)
		} else {
			aliases.Insert(ip)
		}
	}
}

func (w *warner) containers(s *corev1.PodSpec, path *field.Path) {
	for _, list := range []struct {
		name string
		cs   []corev1.Container
	}{{"initContainers", s.InitContainers}, {"containers", s.Containers}} {
		for i := range list.cs {
			c, p := &list.cs[i], path.Child(list.name).Index(i)
			w.fractions(c, p)
			w.env(c, p)
		}
	}
}

// fractions of a byte cannot be had.
func (w *warner) fractions(c *corev1.Container, path *field.Path) {
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		for _, l := range []struct {
			name string
			list corev1.ResourceList
		}{{"limits", c.Resources.Limits}, {"requests", c.Resources.Requests}} {
			if q, ok := l.list[name]; ok && q.MilliValue()%1000 != 0 {
				w.say("%s: fractional byte value %q is invalid, must be an integer", path.Child("resources", l.name).Key(string(name)), q.String())
			}
		}
	}
}

func (w *warner) env(c *corev1.Container, path *field.Path) {
	seen := sets.New[string]()
	for i := range c.Env {
		name := c.Env[i].Name
		if seen.Has(name) {
			w.say("%s: hides previous definition of %q, which may be dropped when using apply", path.Child("env").Index(i), name)
		}
		seen.Insert(name)
	}
}
