package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
)

func evictionKind() kind.Kind[*lifecyclev1alpha1.Eviction] {
	type eviction = *lifecyclev1alpha1.Eviction
	return kind.Kind[eviction]{
		Namespaced: true,
		Write: kind.Write[eviction]{
			CountsGeneration: true, ValidateName: anyName,
			Validate: kind.OnCreate(validateEviction),
			Fixed:    []string{"spec.target"},
		},
		Columns: show.Columns(show.Text("Target", ".spec.target"), show.Text("Target Type", ".spec.target"),
			show.Text("Status", ".status.conditions"),
			show.Text("Active Responder", ".status.targetResponders.state"),
			show.Text("Responder Status", show.Doc(lifecyclev1alpha1.ResponderStatus{}, "")),
			show.Text("Responder Expected Finish", ".status.responders.expectedCompletionTime"),
			show.Text("Requesters", ".status.requesters"),
			show.Wide(show.Text("Responder Heartbeat", ".status.responders.heartbeatTime")),
			show.Wide(show.Text("Responder Status Message", ".status.responders.message"))),
		Show:   kind.Show[eviction]{Cells: evictionCells},
		Status: &kind.Subresource[eviction]{Metadata: kind.ClientMetadata, Validate: validateEvictionStatus},
	}
}

func evictionCells(e *lifecyclev1alpha1.Eviction, since func(metav1.Time) string) []any {
	pod := ""
	if e.Spec.Target.Pod != nil {
		pod = e.Spec.Target.Pod.Name
	}
	s := &e.Status
	name, place := active(s.TargetResponders)
	r := ptr.Deref(find(s.Responders, responderName, name), lifecyclev1alpha1.ResponderStatus{})
	return []any{pod, "Pod", state(s.Conditions, s.ObservedGeneration),
		fmt.Sprintf("%s (%d/%d)", cmp.Or(name, show.Unset), place, len(s.TargetResponders)),
		responderState(&r, since), finish(r.ExpectedCompletionTime, time.Now()), requesters(s.Requesters),
		ago(r.HeartbeatTime, since), cmp.Or(ptr.Deref(r.Message, ""), show.Unset)}
}

// active returns the name of the responder that is active, and its place in the order of priorities; "" and 0 if there
// is none.
func active(list []lifecyclev1alpha1.TargetResponder) (name string, place int) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b lifecyclev1alpha1.TargetResponder) int {
		return cmp.Compare(ptr.Deref(b.Priority, 0), ptr.Deref(a.Priority, 0))
	})
	for i := range list {
		if list[i].State == lifecyclev1alpha1.ResponderStateActive {
			return list[i].Name, i + 1
		}
	}
	return "", 0
}

func responderState(r *lifecyclev1alpha1.ResponderStatus, since func(metav1.Time) string) string {
	switch {
	case r.CompletionTime != nil:
		return "Completed (" + since(*r.CompletionTime) + " ago)"
	case r.StartTime != nil:
		return "Started (" + since(*r.StartTime) + " ago)"
	}
	return show.Unset
}

func finish(t *metav1.Time, now time.Time) string {
	if t == nil {
		return "<unknown>"
	}
	return "in " + duration.HumanDuration(t.Sub(now))
}

func ago(t *metav1.Time, since func(metav1.Time) string) string {
	if t == nil {
		return show.Unset
	}
	return since(*t) + " ago"
}

// requesters are the names of those that have requested the eviction.
func requesters(list []lifecyclev1alpha1.Requester) string {
	var names []string
	for _, r := range list {
		if r.Intent == lifecyclev1alpha1.RequesterIntentEviction {
			names = append(names, r.Name)
		}
	}
	return show.OrNone(strings.Join(names, ","))
}
