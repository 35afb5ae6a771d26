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
		Hub: corev1.SchemeGroupVersion.WithKind("Pod"), Namespaced: true,
		Names: kind.Names{Plural: "pods", ShortNames: []string{"po"}, Categories: []string{"all"}},
		Write: kind.Write[pod]{
			AllowUnconditionalUpdate: true,
			Default: func(p pod) {
				podspec.DefaultPod(p)
				if o.EarlyPodResources {
					podspec.DefaultPodLevelResources(&p.Spec)
				}
				firstIP(&p.Status)
				podspec.RoundStatusResources(&p.Status)
			},
			PrepareForCreate: func(ctx context.Context, p pod) { prepareForCreate(ctx, o, p) },
			PrepareForUpdate: prepareForUpdate,
			CountsGeneration: true,
			Validate:         func(_ context.Context, p pod) field.ErrorList { return validateNew(o, p) },
			ValidateUpdate:   func(_ context.Context, p, old pod) field.ErrorList { return validateUpdate(o, p, old) },
			Warnings: func(_ context.Context, p, old pod) []string {
				if old != nil {
					return nil
				}
				return podwarnings.Pod(p)
			},
		},
		Delete: kind.Delete[pod]{
			ReturnsObject: true,
			CheckGraceful: gracePeriod,
		},
		Show: kind.Show[pod]{
			Columns:       columns(),
			Cells:         cells,
			RowConditions: rowConditions,
		},
		Select: kind.Select[pod]{
			Fields: selectableFields(),
			Index:  "spec.nodeName",
		},
		Status: status(o),
		Subresources: map[string]*kind.UpdateSubresource[pod]{
			"ephemeralcontainers": ephemeralContainers(o),
			"resize":              resize(o),
		},
	}
}

func selectableFields() []kind.SelectableField[pod] {
	f := func(path string, get func(p pod) string) kind.SelectableField[pod] {
		return kind.SelectableField[pod]{Path: path, Get: get}
	}
	return []kind.SelectableField[pod]{
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
		{Path: "status.podIP", Reads: []string{"status.podIP", "status.podIPs"}, Get: func(p pod) string {
			if len(p.Status.PodIPs) > 0 {
				return p.Status.PodIPs[0].IP
			}
			return p.Status.PodIP
		}},
		// Selectors may name podIPs, which has no value in them.
		{Path: "status.podIPs", Get: func(pod) string { return "" }},
		f("status.nominatedNodeName", func(p pod) string { return p.Status.NominatedNodeName }),
	}
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
