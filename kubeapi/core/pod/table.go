package pod

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
)

func columns() []kind.Column {
	return []kind.Column{
		show.Name(),
		show.Text("Ready", "The aggregate readiness state of this pod for accepting traffic."),
		show.Text("Status", "The aggregate status of the containers in this pod."),
		show.Text("Restarts", "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted."),
		show.Age(),
		show.Wide(show.Text("IP", ".status.podIP")),
		show.Wide(show.Text("Node", ".spec.nodeName")),
		show.Wide(show.Text("Nominated Node", ".status.nominatedNodeName")),
		show.Wide(show.Text("Readiness Gates", ".spec.readinessGates")),
	}
}

// cells leaves the ages to since.
func cells(p pod, since func(metav1.Time) string) []any {
	s := summarize(p)
	ip := "<none>"
	if len(p.Status.PodIPs) > 0 {
		ip = p.Status.PodIPs[0].IP
	} else if p.Status.PodIP != "" {
		ip = p.Status.PodIP
	}
	return []any{
		p.Name, fmt.Sprintf("%d/%d", s.ready, s.total), s.reason, s.restartsCell(since), since(p.CreationTimestamp),
		ip, show.OrNone(p.Spec.NodeName), show.OrNone(p.Status.NominatedNodeName), readinessGates(p),
	}
}

func readinessGates(p pod) string {
	if len(p.Spec.ReadinessGates) == 0 {
		return "<none>"
	}
	met := 0
	for _, g := range p.Spec.ReadinessGates {
		for i := range p.Status.Conditions {
			if c := &p.Status.Conditions[i]; c.Type == g.ConditionType {
				if c.Status == corev1.ConditionTrue {
					met++
				}
				break
			}
		}
	}
	return fmt.Sprintf("%d/%d", met, len(p.Spec.ReadinessGates))
}

// summary is a pod's containers in a few words.
type summary struct {
	ready, total, restarts int
	lastRestart            metav1.Time
	reason                 string
}

func (s *summary) restartsCell(since func(metav1.Time) string) string {
	if s.restarts == 0 || s.lastRestart.IsZero() {
		return strconv.Itoa(s.restarts)
	}
	return fmt.Sprintf("%d (%s ago)", s.restarts, since(s.lastRestart))
}

func summarize(p pod) summary {
	s := summary{total: len(p.Spec.Containers), reason: string(p.Status.Phase)}
	if p.Status.Reason != "" {
		s.reason = p.Status.Reason
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			s.reason = corev1.PodReasonSchedulingGated
		}
	}
	sidecars := map[string]bool{}
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars[c.Name] = true
			s.total++
		}
	}
	sidecarRestarts, lastSidecar := 0, metav1.Time{}
	initializing := s.initContainers(p, sidecars, &sidecarRestarts, &lastSidecar)
	if !initializing || initialized(p) {
		s.restarts, s.lastRestart = sidecarRestarts, lastSidecar
		s.mainContainers(p)
	}
	if p.DeletionTimestamp != nil {
		switch {
		case p.Status.Reason == "NodeLost":
			s.reason = "Unknown"
		case p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded:
			s.reason = "Terminating"
		}
	}
	return s
}

func initialized(p pod) bool {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodInitialized {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func later(t *metav1.Time, c *corev1.ContainerStatus) {
	if last := c.LastTerminationState.Terminated; last != nil && t.Before(&last.FinishedAt) {
		*t = last.FinishedAt
	}
}

// initContainers reports whether an init container is still at work, and sets the
// reason.
func (s *summary) initContainers(p pod, sidecars map[string]bool, sidecarRestarts *int, lastSidecar *metav1.Time) bool {
	for i := range p.Status.InitContainerStatuses {
		c := &p.Status.InitContainerStatuses[i]
		s.restarts += int(c.RestartCount)
		later(&s.lastRestart, c)
		if sidecars[c.Name] {
			*sidecarRestarts += int(c.RestartCount)
			later(lastSidecar, c)
		}
		switch st := &c.State; {
		case st.Terminated != nil && st.Terminated.ExitCode == 0:
			continue
		case sidecars[c.Name] && c.Started != nil && *c.Started:
			if c.Ready {
				s.ready++
			}
			continue
		case st.Terminated != nil:
			s.reason = "Init:" + terminated(st.Terminated)
		case st.Waiting != nil && st.Waiting.Reason != "" && st.Waiting.Reason != "PodInitializing":
			s.reason = "Init:" + st.Waiting.Reason
		default:
			s.reason = fmt.Sprintf("Init:%d/%d", i, len(p.Spec.InitContainers))
		}
		return true
	}
	return false
}

// completed is the reason of a container that ended without an error.
const completed = "Completed"

func terminated(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

// mainContainers shows the state of the first container that says anything, but for one
// that did its work beside one that failed.
func (s *summary) mainContainers(p pod) {
	running, failed := false, false
	for i := len(p.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := &p.Status.ContainerStatuses[i]
		s.restarts += int(c.RestartCount)
		later(&s.lastRestart, c)
		switch st := &c.State; {
		case st.Waiting != nil && st.Waiting.Reason != "":
			s.reason = st.Waiting.Reason
		case st.Terminated != nil:
			failed = failed || st.Terminated.ExitCode != 0
			if reason := terminated(st.Terminated); !failed || st.Terminated.ExitCode != 0 || reason != completed {
				s.reason = reason
			}
		case c.Ready && st.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.reason == completed && running && !failed {
		s.reason = "NotReady"
		for i := range p.Status.Conditions {
			if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				s.reason = "Running"
			}
		}
	}
}

func rowConditions(p pod) []metav1.TableRowCondition {
	var reason string
	switch p.Status.Phase {
	case corev1.PodSucceeded:
		reason = string(corev1.PodSucceeded)
	case corev1.PodFailed:
		reason = string(corev1.PodFailed)
	default:
		return nil
	}
	message := "The pod has completed successfully."
	if p.Status.Phase == corev1.PodFailed {
		message = "The pod failed."
	}
	return []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: reason,
		Message: message}}
}
