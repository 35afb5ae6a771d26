package event

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
)

const (
	maxText    = 128
	maxMessage = 1024
)

// Validate validates what events of both groups are held to. Those with an event
// time say who reports what; reporter is the name that the reporting controller
// has in the served version.
func Validate(e *corev1.Event, reporter string) field.ErrorList {
	errs := validateNamespace(e)
	if e.EventTime.IsZero() {
		return errs
	}
	if e.ReportingController == "" {
		errs = append(errs, field.Required(field.NewPath(reporter), ""))
	}
	errs = append(errs, check.QualifiedName(e.ReportingController, field.NewPath(reporter))...)
	for _, f := range []struct{ name, value string }{{"reportingInstance", e.ReportingInstance}, {"action", e.Action},
		{"reason", e.Reason}} {
		if f.value == "" {
			errs = append(errs, field.Required(field.NewPath(f.name), ""))
		}
		errs = append(errs, atMost(maxText, f.value, f.name)...)
	}
	return append(errs, atMost(maxMessage, e.Message, "message")...)
}

// validateNamespace wants an event in the namespace of what it is about. Events
// about what is in no namespace are kept in "default", new ones in "kube-system"
// too.
func validateNamespace(e *corev1.Event) field.ErrorList {
	about := e.InvolvedObject.Namespace
	atHome := about == e.Namespace || about == "" && e.Namespace == metav1.NamespaceDefault
	if !e.EventTime.IsZero() {
		atHome = about != "" || e.Namespace == metav1.NamespaceDefault || e.Namespace == metav1.NamespaceSystem
	}
	if atHome {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("involvedObject", "namespace"), about,
		"does not match event.namespace")}
}

func atMost(most int, value, name string) field.ErrorList {
	if len(value) <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath(name), "", fmt.Sprintf("can have at most %d characters", most))}
}
