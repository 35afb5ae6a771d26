package workload

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/podspec"
)

// Template returns the pod template of an object, or nil.
func Template(obj any) *corev1.PodTemplateSpec {
	switch o := obj.(type) {
	case *corev1.PodTemplate:
		return &o.Template
	case *corev1.ReplicationController:
		return o.Spec.Template
	case *appsv1.ReplicaSet:
		return &o.Spec.Template
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *batchv1.Job:
		return &o.Spec.Template
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template
	}
	return nil
}

// Validate validates objects by rules for the object and the one it replaces, nil for a new one. The options allow what
// the former template has.
func Validate[T Object](o podspec.Options, rules func(o podspec.Options, obj,
	old T) field.ErrorList) func(context.Context,
	T, T) field.ErrorList {
	return func(_ context.Context, obj, old T) field.ErrorList {
		var none T
		options := o
		if old != none {
			if t := Template(old); t != nil {
				options = o.Ratchet(&t.Spec)
			}
		}
		return rules(options, obj, old)
	}
}
