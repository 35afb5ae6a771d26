package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/podspec"
	"triplane/kubeapi/show"
	"triplane/kubeapi/strategy"
)

type pod = *corev1.Pod

// podKind declares pods.
func podKind() registry.Kind[pod] {
	spec := field.NewPath("spec")
	return registry.Kind[pod]{
		Hub: kind("Pod"), Plural: "pods", Singular: "pod", ShortNames: []string{"po"}, Categories: []string{"all"}, Namespaced: true,
		New:                      func() pod { return &corev1.Pod{} },
		NewList:                  func() runtime.Object { return &corev1.PodList{} },
		AllowUnconditionalUpdate: true,
		DeleteReturnsObject:      true,
		Default: func(p pod) {
			podspec.DefaultPod(p)
			firstIP(&p.Status)
		},
		PrepareForCreate: preparePod,
		PrepareForUpdate: func(_ context.Context, p, old pod) {
			p.Status = old.Status
			podGeneration(p, old)
		},
		Validate: func(ctx context.Context, p pod) field.ErrorList {
			errs := validatePod(ctx, p)
			if len(p.Spec.EphemeralContainers) > 0 {
				errs = append(errs, field.Forbidden(spec.Child("ephemeralContainers"), "cannot be set on create"))
			}
			if p.Spec.NodeName != "" && len(p.Spec.SchedulingGates) > 0 {
				errs = append(errs, field.Forbidden(spec.Child("nodeName"), "cannot be set until all schedulingGates have been cleared"))
			}
			return errs
		},
		ValidateUpdate: validatePodUpdate,
		Warnings: func(_ context.Context, p, old pod) []string {
			if old != nil {
				return nil
			}
			return podspec.PodWarnings(p)
		},
		CheckGracefulDelete: podGracePeriod,
		ResetFields:         strategy.Reset(v1, "status"),
		Status:              podStatus(),
		Subresources: map[string]*registry.UpdateSubresource[pod]{
			"ephemeralcontainers": podEphemeralContainers(),
			"resize":              podResize(),
		},
		Columns:       podColumns(),
		Cells:         podCells,
		CellsAt:       podCellsAt,
		RowConditions: podRowConditions,
		Fields:        podFields(),
		IndexField:    "spec.nodeName",
	}
}

// preparePod sets what the server decides of a new pod.
func preparePod(ctx context.Context, p pod) {
	p.Generation = 1
	podspec.DropDisabled(&p.Spec)
	if g := p.Spec.TerminationGracePeriodSeconds; g != nil && *g < 0 {
		*g = 1
	}
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: podspec.QOSClass(&p.Spec)}
	if len(p.Spec.SchedulingGates) > 0 {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated, LastTransitionTime: *now(),
			Message: "Scheduling is blocked due to non-empty scheduling gates",
		})
	}
	profilesFromAnnotations(ctx, p)
	labelKeysIntoSelectors(p)
}

// podGeneration raises the generation when the spec changed.
func podGeneration(p, old pod) { strategy.Generation(p, old, check.Differs(p.Spec, old.Spec)) }

func validatePod(ctx context.Context, p pod) field.ErrorList {
	errs := podspec.ValidateAnnotations(p.Annotations, &p.Spec, field.NewPath("metadata", "annotations"))
	return append(errs, podspec.ValidatePodSpec(ctx, &p.Spec, field.NewPath("spec"))...)
}

// podGracePeriod settles how long a pod may take to end: not at all when no
// kubelet has it.
func podGracePeriod(_ context.Context, p pod, opts *metav1.DeleteOptions) bool {
	if opts == nil {
		return false
	}
	var period int64
	switch {
	case opts.GracePeriodSeconds != nil:
		period = *opts.GracePeriodSeconds
	case p.Spec.TerminationGracePeriodSeconds != nil:
		period = *p.Spec.TerminationGracePeriodSeconds
	}
	if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
		period = 0
	}
	if period < 0 {
		period = 1
	}
	opts.GracePeriodSeconds = &period
	return true
}

func podFields() []registry.SelectableField[pod] {
	f := func(path string, get func(p pod) string) registry.SelectableField[pod] {
		return registry.SelectableField[pod]{Path: path, Get: get}
	}
	return []registry.SelectableField[pod]{
		f("spec.nodeName", func(p pod) string { return p.Spec.NodeName }),
		f("spec.restartPolicy", func(p pod) string { return string(p.Spec.RestartPolicy) }),
		f("spec.schedulerName", func(p pod) string { return p.Spec.SchedulerName }),
		f("spec.serviceAccountName", func(p pod) string { return p.Spec.ServiceAccountName }),
		f("spec.hostNetwork", func(p pod) string {
			if p.Spec.HostNetwork {
				return "true"
			}
			return "false"
		}),
		f("status.phase", func(p pod) string { return string(p.Status.Phase) }),
		f("status.podIP", func(p pod) string {
			if len(p.Status.PodIPs) > 0 {
				return p.Status.PodIPs[0].IP
			}
			return p.Status.PodIP
		}),
		f("status.nominatedNodeName", func(p pod) string { return p.Status.NominatedNodeName }),
	}
}

func podColumns() []registry.Column {
	return []registry.Column{
		show.Name(),
		show.Text("Ready", "The aggregate readiness state of this pod for accepting traffic."),
		show.Text("Status", "The aggregate status of the containers in this pod."),
		show.Text("Restarts", "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted."),
		show.Age(),
		show.Wide(show.Text("IP", show.Doc(corev1.PodStatus{}, "podIP"))),
		show.Wide(show.Text("Node", show.Doc(corev1.PodSpec{}, "nodeName"))),
		show.Wide(show.Text("Nominated Node", show.Doc(corev1.PodStatus{}, "nominatedNodeName"))),
		show.Wide(show.Text("Readiness Gates", show.Doc(corev1.PodSpec{}, "readinessGates"))),
	}
}
