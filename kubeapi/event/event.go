package event

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
)

// Kind declares events as the core group serves them. ttl is how long an event
// is kept.
func Kind(ttl time.Duration) kind.Kind[*corev1.Event] {
	type event = *corev1.Event
	return kind.Kind[event]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"ev"}},
		Representation: Kept(),
		TTL:            func(event) time.Duration { return ttl },
		Write: kind.Write[event]{
			AllowCreateOnUpdate: true, AllowUnconditionalUpdate: kind.Always,
			Validate: kind.Whole(func(e event) field.ErrorList { return Validate(e, "reportingComponent") }),
		},
		Delete:  kind.Delete[event]{GarbageCollection: kind.Unsupported},
		Columns: columns(),
		Show:    kind.Show[event]{Cells: cells},
		Select:  kind.Select[event]{Fields: selectableFields()},
	}
}

// columns are the columns of events in both groups.
func columns() []kind.Column {
	return []kind.Column{
		show.Text("Last Seen", ".lastTimestamp"), show.Text("Type", ".type"), show.Text("Reason", ".reason"),
		show.Text("Object", ".involvedObject"),
		show.Wide(show.Text("Subobject", ".involvedObject.fieldPath")),
		show.Wide(show.Text("Source", ".source")), show.Text("Message", ".message"),
		show.Wide(show.Text("First Seen", ".firstTimestamp")), show.Wide(show.Text("Count", ".count")),
		show.Wide(show.Name()),
	}
}

// cells shows an event; since says how long ago a time was.
func cells(e *corev1.Event, since func(metav1.Time) string) []any {
	first, last := since(e.FirstTimestamp), since(e.LastTimestamp)
	if e.FirstTimestamp.IsZero() {
		first = since(metav1.Time(e.EventTime))
	}
	count := e.Count
	switch {
	case e.Series != nil:
		last, count = since(metav1.Time(e.Series.LastObservedTime)), e.Series.Count
	case e.LastTimestamp.IsZero():
		last = first
	}
	if count == 0 {
		count = 1
	}
	target := strings.ToLower(e.InvolvedObject.Kind)
	if e.InvolvedObject.Name != "" {
		target += "/" + e.InvolvedObject.Name
	}
	return []any{
		last, e.Type, e.Reason, target, e.InvolvedObject.FieldPath, eventSource(e),
		strings.TrimSpace(e.Message), first, int64(count), e.Name,
	}
}

func eventSource(e *corev1.Event) string {
	component, instance := e.Source.Component, e.Source.Host
	if component == "" {
		component = e.ReportingController
	}
	if instance == "" {
		instance = e.ReportingInstance
	}
	if instance == "" {
		return component
	}
	return component + ", " + instance
}

// selectableFields are the selectable fields of events in the core group's names.
func selectableFields() []kind.SelectableField[*corev1.Event] {
	fields := kind.Fields[*corev1.Event]("involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
		"involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
		"reason", "reportingComponent", "type")
	return append(fields, kind.SelectableField[*corev1.Event]{Path: "source",
		Reads: []string{"source.component", "reportingComponent"}, Get: selectedSource})
}

func selectedSource(e *corev1.Event) string { return cmp.Or(e.Source.Component, e.ReportingController) }
