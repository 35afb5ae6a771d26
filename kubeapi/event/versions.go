package event

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
)

// Kept is how events are kept: as the core group's, whichever group they come by.
// The beta of events.k8s.io has the fields of its v1.
func Kept() kind.Typed[*corev1.Event] {
	beta := schema.GroupVersion{Group: eventsv1.GroupName, Version: "v1beta1"}
	return kind.Typed[*corev1.Event]{
		MetadataOnUpdate: kind.MetadataOnce,
		Versions:         []kind.Version[*corev1.Event]{kind.VersionOf(eventsv1.SchemeGroupVersion, toCore, fromCore)},
		Former:           []kind.Version[*corev1.Event]{kind.VersionOf(beta, toCore, nil)},
	}
}

func toCore(e *eventsv1.Event) (*corev1.Event, error) {
	c := &corev1.Event{
		ObjectMeta: e.ObjectMeta, InvolvedObject: e.Regarding, Reason: e.Reason, Message: e.Note,
		Source: e.DeprecatedSource, FirstTimestamp: e.DeprecatedFirstTimestamp, LastTimestamp: e.DeprecatedLastTimestamp,
		Count: e.DeprecatedCount, Type: e.Type, EventTime: e.EventTime, Action: e.Action, Related: e.Related,
		ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance,
	}
	if s := e.Series; s != nil {
		c.Series = &corev1.EventSeries{Count: s.Count, LastObservedTime: s.LastObservedTime}
	}
	return c, nil
}

func fromCore(c *corev1.Event) (*eventsv1.Event, error) {
	e := &eventsv1.Event{
		ObjectMeta: c.ObjectMeta, Regarding: c.InvolvedObject, Reason: c.Reason, Note: c.Message,
		DeprecatedSource: c.Source, DeprecatedFirstTimestamp: c.FirstTimestamp, DeprecatedLastTimestamp: c.LastTimestamp,
		DeprecatedCount: c.Count, Type: c.Type, EventTime: c.EventTime, Action: c.Action, Related: c.Related,
		ReportingController: c.ReportingController, ReportingInstance: c.ReportingInstance,
	}
	if s := c.Series; s != nil {
		e.Series = &eventsv1.EventSeries{Count: s.Count, LastObservedTime: s.LastObservedTime}
	}
	return e, nil
}
