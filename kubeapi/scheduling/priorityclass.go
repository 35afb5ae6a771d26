package scheduling

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
)

const (
	// systemPrefix begins the names of the classes that the system reserves.
	systemPrefix = "system-"
	// maxUserPriority is the highest value that others may have.
	maxUserPriority = 1000000000
	// systemCritical is the base of the system's own values.
	systemCritical = 2 * maxUserPriority
)

// SystemClasses are the classes that every cluster has.
func SystemClasses() []*schedulingv1.PriorityClass {
	class := func(name string, value int32, description string) *schedulingv1.PriorityClass {
		c := &schedulingv1.PriorityClass{Value: value, Description: description,
			PreemptionPolicy: ptr.To(corev1.PreemptLowerPriority)}
		c.Name, c.Generation = name, 1
		return c
	}
	return []*schedulingv1.PriorityClass{
		class("system-node-critical", systemCritical+1000,
			"Used for system critical pods that must not be moved from their current node."),
		class("system-cluster-critical", systemCritical,
			"Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."),
	}
}

func priorityClassKind() kind.Kind[*schedulingv1.PriorityClass] {
	type class = *schedulingv1.PriorityClass
	return kind.Kind[class]{
		Representation: kind.Typed[class]{Former: kind.SameFields[class]("v1beta1"), MetadataOnUpdate: kind.MetadataChange},
		Names:          kind.Names{ShortNames: []string{"pc"}},
		Write: kind.Write[class]{
			Default: func(c class) {
				defaults.Set(&c.PreemptionPolicy, corev1.PreemptLowerPriority)
			},
			Prepare:                  kind.AtCreation(func(_ context.Context, c class) { c.Generation = 1 }),
			Validate:                 kind.OnCreate(validate, validateValue),
			Immutable:                []string{"preemptionPolicy"},
			AllowUnconditionalUpdate: kind.Always,
		},
		Delete: kind.Delete[class]{Protected: protected},
		Columns: append(show.Columns(show.Path("value"),
			show.Field("Global-Default", "globalDefault")), show.Path("preemptionPolicy")),
	}
}

func validateValue(c, old *schedulingv1.PriorityClass) field.ErrorList {
	if c.Value == old.Value {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("value"), "may not be changed in an update.")}
}

func validate(c *schedulingv1.PriorityClass) field.ErrorList {
	var errs field.ErrorList
	if strings.HasPrefix(c.Name, systemPrefix) {
		if reason := notSystem(c); reason != "" {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"),
				"priority class names with '"+systemPrefix+"' prefix are reserved for system use only. error: "+reason))
		}
	} else if c.Value > maxUserPriority {
		errs = append(errs, field.Forbidden(field.NewPath("value"),
			fmt.Sprintf("maximum allowed value of a user defined priority is %v", maxUserPriority)))
	}
	if p := c.PreemptionPolicy; p != nil && *p == "" {
		errs = append(errs, field.Required(field.NewPath("preemptionPolicy"), ""))
	} else if p != nil {
		errs = append(errs, check.OneOf(*c.PreemptionPolicy, field.NewPath("preemptionPolicy"), corev1.PreemptLowerPriority,
			corev1.PreemptNever)...)
	}
	return errs
}

// protected keeps the system's classes: without them its pods are not admitted.
func protected(c *schedulingv1.PriorityClass) string {
	if slices.ContainsFunc(SystemClasses(), func(s *schedulingv1.PriorityClass) bool { return s.Name == c.Name }) {
		return "this is a system priority class and cannot be deleted"
	}
	return ""
}

// notSystem returns why a class is not one of the system's, "" if it is.
func notSystem(c *schedulingv1.PriorityClass) string {
	for _, s := range SystemClasses() {
		switch {
		case s.Name != c.Name:
			continue
		case s.Value != c.Value:
			return fmt.Sprintf("value of %v PriorityClass must be %v", s.Name, s.Value)
		case s.GlobalDefault != c.GlobalDefault:
			return fmt.Sprintf("globalDefault of %v PriorityClass must be %v", s.Name, s.GlobalDefault)
		}
		return ""
	}
	return fmt.Sprintf("%v is not a known system priority class", c.Name)
}
