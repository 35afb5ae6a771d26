package podvalidation

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
)

// scheduling validates what says where a pod may run.
func (v *checker) scheduling(path *field.Path) {
	s := v.spec
	if s.Affinity != nil {
		v.affinity(s.Affinity, path.Child("affinity"))
	}
	v.dns(path.Child("dnsConfig"))
	for i := range s.ReadinessGates {
		v.Qualified(string(s.ReadinessGates[i].ConditionType), path.Child("readinessGates").Index(i).Child("conditionType"))
	}
	gates := sets.New[string]()
	for i := range s.SchedulingGates {
		name, p := s.SchedulingGates[i].Name, path.Child("schedulingGates").Index(i)
		v.Qualified(name, p)
		if gates.Has(name) {
			v.Add(field.Duplicate(p, name))
		}
		gates.Insert(name)
	}
	following := map[spread]int{}
	for i := range s.TopologySpreadConstraints {
		following[spreadOf(&s.TopologySpreadConstraints[i])]++
	}
	for i := range s.TopologySpreadConstraints {
		c := &s.TopologySpreadConstraints[i]
		following[spreadOf(c)]--
		v.topologySpread(c, following[spreadOf(c)] > 0, path.Child("topologySpreadConstraints").Index(i))
	}
}

// Tolerations validates a list of tolerations, which may compare numbers or not.
func Tolerations(list []corev1.Toleration, compared bool, path *field.Path) field.ErrorList {
	v := &checker{}
	for i := range list {
		t, p := &list[i], path.Index(i)
		if t.Key != "" {
			v.Qualified(t.Key, p.Child("key"))
		}
		if t.Key == "" && t.Operator != corev1.TolerationOpExists {
			v.Add(field.Invalid(p.Child("operator"), t.Operator,
				"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			v.Add(field.Invalid(p.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
		}
		switch t.Operator {
		case corev1.TolerationOpEqual, "":
			v.Messages(utilvalidation.IsValidLabelValue(t.Value), t.Value, p.Child("operator"))
		case corev1.TolerationOpExists:
			if t.Value != "" {
				v.Add(field.Invalid(p.Child("operator"), t.Value, "value must be empty when `operator` is 'Exists'"))
			}
		case corev1.TolerationOpGt, corev1.TolerationOpLt:
			if !compared {
				v.Add(field.NotSupported(p.Child("operator"), t.Operator, knownTolerationOperators(t.Operator)))
				break
			}
			v.Messages(content.IsDecimalInteger(t.Value), t.Value, p.Child("value"))
			if _, err := strconv.ParseInt(t.Value, 10, 64); err != nil {
				v.Add(field.Invalid(p.Child("value"), t.Value, err.Error()))
			}
		default:
			v.Add(field.NotSupported(p.Child("operator"), t.Operator, knownTolerationOperators(t.Operator)))
		}
		if t.Effect != "" {
			v.Add(check.OneOf(t.Effect, p.Child("effect"), corev1.TaintEffectNoSchedule,
				corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
		}
	}
	return v.Errors
}

// spread is what no two constraints have in common.
type spread struct {
	key  string
	when corev1.UnsatisfiableConstraintAction
}

func spreadOf(c *corev1.TopologySpreadConstraint) spread {
	return spread{c.TopologyKey, c.WhenUnsatisfiable}
}

// topologySpread validates a constraint, which none of the following repeats.
func (v *checker) topologySpread(c *corev1.TopologySpreadConstraint, repeated bool, path *field.Path) {
	if c.MaxSkew <= 0 {
		v.Add(field.Invalid(path.Child("maxSkew"), c.MaxSkew, "must be greater than zero"))
	}
	if c.TopologyKey == "" {
		v.Add(field.Required(path.Child("topologyKey"), "can not be empty"))
	}
	v.Add(check.OneOf(c.WhenUnsatisfiable, path.Child("whenUnsatisfiable"), corev1.DoNotSchedule,
		corev1.ScheduleAnyway)...)
	if repeated {
		v.Add(field.Duplicate(path.Child("{topologyKey, whenUnsatisfiable}"),
			fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable)))
	}
	if c.MinDomains != nil {
		if *c.MinDomains <= 0 {
			v.Add(field.Invalid(path.Child("minDomains"), c.MinDomains, "must be greater than zero"))
		}
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			v.Add(field.Invalid(path.Child("minDomains"), c.MinDomains,
				"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not "+string(c.WhenUnsatisfiable)))
		}
	}
	policy := func(p *corev1.NodeInclusionPolicy, path *field.Path) {
		if p != nil {
			v.Add(check.OneOf(*p, path, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)...)
		}
	}
	policy(c.NodeAffinityPolicy, path.Child("nodeAffinityPolicy"))
	policy(c.NodeTaintsPolicy, path.Child("nodeTaintsPolicy"))
	if len(c.MatchLabelKeys) > 0 && c.LabelSelector == nil {
		v.Add(field.Forbidden(path.Child("matchLabelKeys"), "must not be specified when labelSelector is not set"))
	}
	if c.LabelSelector != nil {
		for i, k := range c.MatchLabelKeys {
			v.Qualified(k, path.Child("matchLabelKeys").Index(i))
		}
		v.Add(metav1validation.ValidateLabelSelector(c.LabelSelector, metav1validation.LabelSelectorValidationOptions{},
			path.Child("labelSelector"))...)
	}
}

func (v *checker) affinity(a *corev1.Affinity, path *field.Path) {
	if n := a.NodeAffinity; n != nil {
		p := path.Child("nodeAffinity")
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			v.Add(check.NodeSelector(n.RequiredDuringSchedulingIgnoredDuringExecution, p.Child(podspec.RequiredTerms))...)
		}
		for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			t, tp := &n.PreferredDuringSchedulingIgnoredDuringExecution[i], p.Child(podspec.PreferredTerms).Index(i)
			v.weight(t.Weight, tp)
			v.NodeSelectorTerm(&t.Preference, tp.Child("preference"), false)
		}
	}
	pods := func(terms []corev1.PodAffinityTerm, weighted []corev1.WeightedPodAffinityTerm, p *field.Path) {
		for i := range terms {
			v.podAffinityTerm(&terms[i], p.Child(podspec.RequiredTerms).Index(i))
		}
		for i := range weighted {
			wp := p.Child(podspec.PreferredTerms).Index(i)
			v.weight(weighted[i].Weight, wp)
			v.podAffinityTerm(&weighted[i].PodAffinityTerm, wp.Child("podAffinityTerm"))
		}
	}
	if x := a.PodAffinity; x != nil {
		pods(x.RequiredDuringSchedulingIgnoredDuringExecution, x.PreferredDuringSchedulingIgnoredDuringExecution,
			path.Child("podAffinity"))
	}
	if x := a.PodAntiAffinity; x != nil {
		pods(x.RequiredDuringSchedulingIgnoredDuringExecution, x.PreferredDuringSchedulingIgnoredDuringExecution,
			path.Child("podAntiAffinity"))
	}
}

func (v *checker) weight(w int32, path *field.Path) {
	if w < 1 || w > 100 {
		v.Add(field.Invalid(path.Child("weight"), w, "must be in the range 1-100"))
	}
}

func (v *checker) podAffinityTerm(t *corev1.PodAffinityTerm, path *field.Path) {
	o := metav1validation.LabelSelectorValidationOptions{}
	v.Add(metav1validation.ValidateLabelSelector(t.LabelSelector, o, path.Child("labelSelector"))...)
	v.Add(metav1validation.ValidateLabelSelector(t.NamespaceSelector, o, path.Child("namespaceSelector"))...)
	for _, n := range t.Namespaces {
		v.Label(n, path.Child("namespace"))
	}
	v.matchLabelKeys(t, path)
	if t.TopologyKey == "" {
		v.Add(field.Required(path.Child("topologyKey"), "can not be empty"))
	}
	v.Qualified(t.TopologyKey, path.Child("topologyKey"))
}

func (v *checker) matchLabelKeys(t *corev1.PodAffinityTerm, path *field.Path) {
	keys := func(name string, list []string) {
		if len(list) > 0 && t.LabelSelector == nil {
			v.Add(field.Forbidden(path.Child(name), "must not be specified when labelSelector is not set"))
			return
		}
		for i, k := range list {
			v.Qualified(k, path.Child(name).Index(i))
		}
	}
	keys("matchLabelKeys", t.MatchLabelKeys)
	keys("mismatchLabelKeys", t.MismatchLabelKeys)
	other := sets.New(t.MismatchLabelKeys...)
	for i, k := range t.MatchLabelKeys {
		if other.Has(k) {
			v.Add(field.Invalid(path.Child("matchLabelKeys").Index(i), k, "exists in both matchLabelKeys and mismatchLabelKeys"))
		}
	}
}

// Taints validates the taints of a node.
func Taints(list []corev1.Taint, path *field.Path) field.ErrorList {
	v := &checker{}
	seen := sets.New[string]()
	for i := range list {
		t, p := &list[i], path.Index(i)
		v.Qualified(t.Key, p.Child("key"))
		v.Messages(utilvalidation.IsValidLabelValue(t.Value), t.Value, p.Child("value"))
		v.Add(check.RequiredOneOf(t.Effect, p.Child("effect"), corev1.TaintEffectNoSchedule,
			corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
		if id := strconv.Quote(t.Key) + string(t.Effect); seen.Has(id) {
			d := field.Duplicate(p, *t)
			d.Detail = "taints must be unique by key and effect pair"
			v.Add(d)
		} else {
			seen.Insert(id)
		}
	}
	return v.Errors
}

// knownTolerationOperators are the operators that messages offer. The numeric
// ones are offered to clients that try them.
func knownTolerationOperators(op corev1.TolerationOperator) []corev1.TolerationOperator {
	known := []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}
	if op == "Lt" || op == "Gt" {
		known = append(known, "Lt", "Gt")
	}
	return known
}

// schedulingGroup validates the group of pods that are scheduled together.
func (v *checker) schedulingGroup(path *field.Path) {
	g, name := v.spec.SchedulingGroup, path.Child("podGroupName")
	switch {
	case g == nil:
		return
	case g.PodGroupName == nil:
		v.Add(field.Invalid(name, nil, "must specify one of: `podGroupName`"))
	default:
		v.Subdomain(*g.PodGroupName, name)
	}
	v.Forbid(len(v.spec.EvictionResponders) > 0, path, "may not be set when evictionResponders is set")
}
