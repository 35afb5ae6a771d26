package podspec

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// scheduling validates what says where a pod may run.
func (v *checker) scheduling(path *field.Path) {
	s := v.spec
	if s.Affinity != nil {
		v.affinity(s.Affinity, path.Child("affinity"))
	}
	v.dns(path.Child("dnsConfig"))
	for i := range s.ReadinessGates {
		v.qualified(string(s.ReadinessGates[i].ConditionType), path.Child("readinessGates").Index(i).Child("conditionType"))
	}
	gates := sets.New[string]()
	for i := range s.SchedulingGates {
		name, p := s.SchedulingGates[i].Name, path.Child("schedulingGates").Index(i)
		v.qualified(name, p)
		if gates.Has(name) {
			v.add(field.Duplicate(p, name))
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
			v.qualified(t.Key, p.Child("key"))
		}
		if t.Key == "" && t.Operator != corev1.TolerationOpExists {
			v.add(field.Invalid(p.Child("operator"), t.Operator,
				"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			v.add(field.Invalid(p.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
		}
		switch t.Operator {
		case corev1.TolerationOpEqual, "":
			v.messages(utilvalidation.IsValidLabelValue(t.Value), t.Value, p.Child("operator"))
		case corev1.TolerationOpExists:
			if t.Value != "" {
				v.add(field.Invalid(p.Child("operator"), t.Value, "value must be empty when `operator` is 'Exists'"))
			}
		case corev1.TolerationOpGt, corev1.TolerationOpLt:
			if !compared {
				v.add(field.NotSupported(p.Child("operator"), t.Operator, knownTolerationOperators(t.Operator)))
			} else if _, err := strconv.ParseInt(t.Value, 10, 64); err != nil {
				v.add(field.Invalid(p.Child("value"), t.Value, "must be a valid integer when `operator` is 'Gt' or 'Lt'"))
			}
		default:
			v.add(field.NotSupported(p.Child("operator"), t.Operator, knownTolerationOperators(t.Operator)))
		}
		if t.Effect != "" {
			oneOfOrEmpty(v, t.Effect, p.Child("effect"), corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule,
				corev1.TaintEffectNoExecute)
		}
	}
	return v.errs
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
		v.add(field.Invalid(path.Child("maxSkew"), c.MaxSkew, "must be greater than zero"))
	}
	if c.TopologyKey == "" {
		v.add(field.Required(path.Child("topologyKey"), "can not be empty"))
	}
	oneOfOrEmpty(v, c.WhenUnsatisfiable, path.Child("whenUnsatisfiable"), corev1.DoNotSchedule, corev1.ScheduleAnyway)
	if repeated {
		v.add(field.Duplicate(path.Child("{topologyKey, whenUnsatisfiable}"),
			fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable)))
	}
	if c.MinDomains != nil {
		if *c.MinDomains <= 0 {
			v.add(field.Invalid(path.Child("minDomains"), c.MinDomains, "must be greater than zero"))
		}
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			v.add(field.Invalid(path.Child("minDomains"), c.MinDomains,
				"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not "+string(c.WhenUnsatisfiable)))
		}
	}
	policy := func(p *corev1.NodeInclusionPolicy, path *field.Path) {
		if p != nil {
			oneOfOrEmpty(v, *p, path, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
		}
	}
	policy(c.NodeAffinityPolicy, path.Child("nodeAffinityPolicy"))
	policy(c.NodeTaintsPolicy, path.Child("nodeTaintsPolicy"))
	if len(c.MatchLabelKeys) > 0 && c.LabelSelector == nil {
		v.add(field.Forbidden(path.Child("matchLabelKeys"), "must not be specified when labelSelector is not set"))
	}
	if c.LabelSelector != nil {
		for i, k := range c.MatchLabelKeys {
			v.qualified(k, path.Child("matchLabelKeys").Index(i))
		}
		v.add(metav1validation.ValidateLabelSelector(c.LabelSelector, metav1validation.LabelSelectorValidationOptions{},
			path.Child("labelSelector"))...)
	}
}

func (v *checker) affinity(a *corev1.Affinity, path *field.Path) {
	if n := a.NodeAffinity; n != nil {
		p := path.Child("nodeAffinity")
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			v.add(NodeSelector(n.RequiredDuringSchedulingIgnoredDuringExecution, p.Child(required))...)
		}
		for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			t, tp := &n.PreferredDuringSchedulingIgnoredDuringExecution[i], p.Child(preferred).Index(i)
			v.weight(t.Weight, tp)
			v.nodeSelectorTerm(&t.Preference, tp.Child("preference"), false)
		}
	}
	pods := func(terms []corev1.PodAffinityTerm, weighted []corev1.WeightedPodAffinityTerm, p *field.Path) {
		for i := range terms {
			v.podAffinityTerm(&terms[i], p.Child(required).Index(i))
		}
		for i := range weighted {
			wp := p.Child(preferred).Index(i)
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
		v.add(field.Invalid(path.Child("weight"), w, "must be in the range 1-100"))
	}
}

// NodeSelector validates a selector of nodes.
func NodeSelector(s *corev1.NodeSelector, path *field.Path) field.ErrorList {
	v, terms := &checker{}, path.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(terms, "must have at least one node selector term")}
	}
	for i := range s.NodeSelectorTerms {
		v.nodeSelectorTerm(&s.NodeSelectorTerms[i], terms.Index(i), true)
	}
	return v.errs
}

// nodeSelectorTerm validates a term. labelValues says whether expressions compare
// with values that a label can have; what is only preferred may compare with any.
func (v *checker) nodeSelectorTerm(t *corev1.NodeSelectorTerm, path *field.Path, labelValues bool) {
	for i := range t.MatchExpressions {
		v.nodeExpression(&t.MatchExpressions[i], path.Child("matchExpressions").Index(i), labelValues)
	}
	for i := range t.MatchFields {
		v.nodeField(&t.MatchFields[i], path.Child("matchFields").Index(i))
	}
}

func (v *checker) nodeExpression(r *corev1.NodeSelectorRequirement, path *field.Path, labelValues bool) {
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			v.add(field.Required(path.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'"))
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			v.add(field.Forbidden(path.Child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			v.add(field.Required(path.Child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'"))
		}
	default:
		v.add(field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	v.messages(utilvalidation.IsQualifiedName(r.Key), r.Key, path.Child("key"))
	if !labelValues {
		return
	}
	for i, value := range r.Values {
		v.messages(utilvalidation.IsValidLabelValue(value), value, path.Child("values").Index(i))
	}
}

func (v *checker) nodeField(r *corev1.NodeSelectorRequirement, path *field.Path) {
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) != 1 {
			v.add(field.Required(path.Child("values"),
				"must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
		}
	default:
		v.add(field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	if r.Key != metav1.ObjectNameField {
		v.add(field.Invalid(path.Child("key"), r.Key, "not a valid field selector key"))
		return
	}
	for i, value := range r.Values {
		v.subdomain(value, path.Child("values").Index(i))
	}
}

func (v *checker) podAffinityTerm(t *corev1.PodAffinityTerm, path *field.Path) {
	o := metav1validation.LabelSelectorValidationOptions{}
	v.add(metav1validation.ValidateLabelSelector(t.LabelSelector, o, path.Child("labelSelector"))...)
	v.add(metav1validation.ValidateLabelSelector(t.NamespaceSelector, o, path.Child("namespaceSelector"))...)
	for _, n := range t.Namespaces {
		v.label(n, path.Child("namespace"))
	}
	v.matchLabelKeys(t, path)
	if t.TopologyKey == "" {
		v.add(field.Required(path.Child("topologyKey"), "can not be empty"))
	}
	v.qualified(t.TopologyKey, path.Child("topologyKey"))
}

func (v *checker) matchLabelKeys(t *corev1.PodAffinityTerm, path *field.Path) {
	keys := func(name string, list []string) {
		if len(list) > 0 && t.LabelSelector == nil {
			v.add(field.Forbidden(path.Child(name), "must not be specified when labelSelector is not set"))
			return
		}
		for i, k := range list {
			v.qualified(k, path.Child(name).Index(i))
		}
	}
	keys("matchLabelKeys", t.MatchLabelKeys)
	keys("mismatchLabelKeys", t.MismatchLabelKeys)
	other := sets.New(t.MismatchLabelKeys...)
	for i, k := range t.MatchLabelKeys {
		if other.Has(k) {
			v.add(field.Invalid(path.Child("matchLabelKeys").Index(i), k, "exists in both matchLabelKeys and mismatchLabelKeys"))
		}
	}
}

// Taints validates the taints of a node.
func Taints(list []corev1.Taint, path *field.Path) field.ErrorList {
	v := &checker{}
	seen := sets.New[string]()
	for i := range list {
		t, p := &list[i], path.Index(i)
		v.qualified(t.Key, p.Child("key"))
		v.messages(utilvalidation.IsValidLabelValue(t.Value), t.Value, p.Child("value"))
		oneOf(v, t.Effect, p.Child("effect"), corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule,
			corev1.TaintEffectNoExecute)
		if id := strconv.Quote(t.Key) + string(t.Effect); seen.Has(id) {
			d := field.Duplicate(p, *t)
			d.Detail = "taints must be unique by key and effect pair"
			v.add(d)
		} else {
			seen.Insert(id)
		}
	}
	return v.errs
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
