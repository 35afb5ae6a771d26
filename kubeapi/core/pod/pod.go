package pod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/podwarnings"
)

type pod = *corev1.Pod

// Kind declares the Pod; o says what its spec may be.
func Kind(o podspec.Options) kind.Kind[pod] {
	return kind.Kind[pod]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"po"}, Categories: []string{"all"}},
		Write: kind.Write[pod]{
			AllowUnconditionalUpdate: kind.Always, CountsGeneration: true,
			Default: func(p pod) {
				podspec.DefaultPod(p)
				if o.PodLevel.Early {
					podspec.DefaultPodLevelResources(&p.Spec, false)
				}
				firstIP(&p.Status)
				podspec.RoundStatusResources(&p.Status)
			},
			Prepare: func(ctx context.Context, p, old pod) { prepare(ctx, o, p, old) },
			Validate: kind.OnCreate(func(p pod) field.ErrorList { return validateNew(o, p) },
				func(p, old pod) field.ErrorList { return validateUpdate(o, p, old) }),
			Warnings: warnings,
		},
		Delete:  kind.Delete[pod]{ReturnsObject: true, CheckGraceful: gracePeriod},
		Columns: columns(),
		Show:    kind.Show[pod]{Cells: cells, RowConditions: rowConditions},
		Select:  kind.Select[pod]{Fields: selectableFields(), Index: "spec.nodeName"},
		Status:  status(o),
		Subresources: map[string]*kind.Subresource[pod]{
			"ephemeralcontainers": ephemeralContainers(o),
			"resize":              resize(o),
		},
	}
}

func selectableFields() []kind.SelectableField[pod] {
	fields := kind.Fields[pod]("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
		"spec.hostNetwork", "status.phase", "status.nominatedNodeName")
	return append(fields,
		// A name of spec.nodeName from an early version.
		kind.SelectableField[pod]{Path: "spec.host", Reads: []string{"spec.nodeName"}},
		kind.SelectableField[pod]{Path: "status.podIP", Reads: []string{"status.podIP", "status.podIPs"},
			Get: selectedIP},
		// Selectors may name podIPs, which has no value in them.
		kind.SelectableField[pod]{Path: "status.podIPs", Get: func(pod) string { return "" }})
}

func selectedIP(p pod) string {
	if len(p.Status.PodIPs) > 0 {
		return p.Status.PodIPs[0].IP
	}
	return p.Status.PodIP
}

func warnings(_ context.Context, p, old pod) []string {
	if old != nil {
		return nil
	}
	return podwarnings.Pod(p)
}

// gracePeriod settles how long a pod may take to end: not at all when no
// kubelet has it.
func gracePeriod(_ context.Context, p pod, opts *metav1.DeleteOptions) bool {
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
