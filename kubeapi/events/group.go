package events

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/event"
	"triplane.dev/kubeapi/group"
)

// Group builds events.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, eventsv1.GroupName, "v1")
	group.Add(b, eventKind(d.EventTTL))
	return b.Info()
}

// eventKind is the declaration of core events with another served version. All
// that may change in an event here is its series.
func eventKind(ttl time.Duration) kind.Kind[*corev1.Event] {
	k := event.Kind(ttl)
	k.Prefix = "events"
	k.Write.Validate = validate
	k.Select.Labels = map[string]string{"reason": "reason", "reportingController": "reportingComponent", "type": "type"}
	for _, f := range []string{"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"} {
		k.Select.Labels["regarding."+f] = "involvedObject." + f
	}
	kept := event.Kept()
	kept.MetadataOnUpdate = kind.MetadataChange // stricter than the core group
	kept.ValidateFirst = func(e *corev1.Event) field.ErrorList { return event.Validate(e, "reportingController") }
	k.Representation = kept
	return k
}

func invalid(path, message string) *field.Error {
	return field.Invalid(field.NewPath(path), "", message)
}

func validate(_ context.Context, e, old *corev1.Event) field.ErrorList {
	if old != nil {
		return validateUpdate(e, old)
	}
	errs := validateSeries(e)
	if e.EventTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("eventTime"), ""))
	}
	if e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
		errs = append(errs, invalid("type", "has invalid value: "+e.Type))
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"firstTimestamp", !e.FirstTimestamp.IsZero()}, {"lastTimestamp", !e.LastTimestamp.IsZero()},
		{"count", e.Count != 0}, {"source", e.Source != corev1.EventSource{}},
	} {
		if f.set {
			errs = append(errs, invalid(f.name, "needs to be unset"))
		}
	}
	return errs
}

func validateSeries(e *corev1.Event) field.ErrorList {
	var errs field.ErrorList
	if e.Series == nil {
		return nil
	}
	if e.Series.Count < 2 {
		errs = append(errs, invalid("series.count", "should be at least 2"))
	}
	if e.Series.LastObservedTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("series", "lastObservedTime"), ""))
	}
	return errs
}

func validateUpdate(e, old *corev1.Event) field.ErrorList {
	var errs field.ErrorList
	if check.Differs(e.Series, old.Series) {
		errs = append(errs, validateSeries(e)...)
	}
	for _, f := range []struct {
		name       string
		value, old any
	}{
		{"involvedObject", e.InvolvedObject, old.InvolvedObject}, {"reason", e.Reason, old.Reason},
		{"message", e.Message, old.Message}, {"source", e.Source, old.Source},
		{"firstTimestamp", e.FirstTimestamp, old.FirstTimestamp}, {"lastTimestamp", e.LastTimestamp, old.LastTimestamp},
		{"count", e.Count, old.Count}, {"reason", e.Reason, old.Reason}, {"type", e.Type, old.Type},
		{"eventTime", e.EventTime, old.EventTime}, {"action", e.Action, old.Action},
		{"related", e.Related, old.Related}, {"reportingController", e.ReportingController, old.ReportingController},
		{"reportingInstance", e.ReportingInstance, old.ReportingInstance},
	} {
		errs = append(errs, check.Immutable(f.value, f.old, field.NewPath(f.name))...)
	}
	return errs
}
