package scheduling

import (
	"fmt"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

// gateWorkload serves workloads and pod groups.
const gateWorkload = "GenericWorkload"

func workloadKind() kind.Kind[*schedulingv1alpha3.Workload] {
	type workload = *schedulingv1alpha3.Workload
	return kind.Kind[workload]{
		Namespaced:     true,
		Representation: kind.Typed[workload]{Versions: kind.SameFields[workload](beta1)},
		Write: kind.Write[workload]{
			Validate: check.Markers("Spec", schedulingv1alpha3.Validate_WorkloadSpec, kind.Whole(validateWorkload)),
		},
		Columns: show.Columns(),
	}
}

func validateWorkload(w *schedulingv1alpha3.Workload) field.ErrorList {
	s, path, t := &w.Spec, field.NewPath("spec"), newTemplates()
	for i := range s.PodGroupTemplates {
		t.group(&s.PodGroupTemplates[i], nil)
	}
	t.composites(s.CompositePodGroupTemplates, path.Child("compositePodGroupTemplates"), true)
	if len(t.priorities) > 1 {
		message := "detected multiple priority configurations"
		if len(s.CompositePodGroupTemplates) > 0 {
			message = "all priority and priorityClassName values must be identical, detected multiple values"
		}
		t.errs = append(t.errs, field.Invalid(path, nil, message))
	}
	return t.errs
}

// priority is how a template says which pods come first.
type priority struct {
	class string
	set   bool
	value int32
}

// templates validates what a tree of templates has in common.
type templates struct {
	names      map[string]bool
	priorities map[priority]bool
	errs       field.ErrorList
}

func newTemplates() *templates {
	return &templates{names: map[string]bool{}, priorities: map[priority]bool{}}
}

func (t *templates) priority(class string, value *int32) {
	p := priority{class: class}
	if value != nil {
		p.set, p.value = true, *value
	}
	t.priorities[p] = true
}

// group adds a template. Duplicates at the root, where path is nil, are those of a list.
func (t *templates) group(g *schedulingv1alpha3.PodGroupTemplate, path *field.Path) {
	t.priority(g.PriorityClassName, g.Priority)
	t.name(g.Name, path)
}

func (t *templates) name(name string, path *field.Path) {
	if path != nil && name != "" && t.names[name] {
		t.errs = append(t.errs, field.Duplicate(path.Child("name"), name))
	}
	t.names[name] = true
}

// composites adds a list of templates of composite groups.
func (t *templates) composites(list []schedulingv1alpha3.CompositePodGroupTemplate, path *field.Path, root bool) {
	for i := range list {
		c, at := &list[i], path.Index(i)
		if root {
			if levels(c) > schedulingv1alpha3.WorkloadMaxTreeDepth {
				t.errs = append(t.errs, field.Invalid(at, c.Name,
					fmt.Sprintf("maximum template hierarchy depth is %d", schedulingv1alpha3.WorkloadMaxTreeDepth)))
				continue
			}
			t.name(c.Name, nil)
		} else {
			t.name(c.Name, at)
		}
		t.priority(c.PriorityClassName, c.Priority)
		if len(c.PodGroupTemplates) == 0 && len(c.CompositePodGroupTemplates) == 0 {
			t.errs = append(t.errs, field.Invalid(at, c.Name,
				"must have at least one child PodGroupTemplate or CompositePodGroupTemplate"))
		}
		for k := range c.PodGroupTemplates {
			t.group(&c.PodGroupTemplates[k], at.Child("podGroupTemplates").Index(k))
		}
		t.composites(c.CompositePodGroupTemplates, at.Child("compositePodGroupTemplates"), false)
	}
}

// levels returns how many levels of templates a composite one has.
func levels(c *schedulingv1alpha3.CompositePodGroupTemplate) int {
	below := 0
	if len(c.PodGroupTemplates) > 0 {
		below = 1
	}
	for i := range c.CompositePodGroupTemplates {
		below = max(below, levels(&c.CompositePodGroupTemplates[i]))
	}
	return below + 1
}
