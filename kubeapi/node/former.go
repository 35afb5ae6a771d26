package node

import (
	nodev1 "k8s.io/api/node/v1"
	nodev1alpha1 "k8s.io/api/node/v1alpha1"

	"triplane.dev/generic/api/kind"
)

// formerClasses are the runtime classes of the beta, which has the same fields, and
// of the alpha, which had them in a spec.
func formerClasses() []kind.Version[*nodev1.RuntimeClass] {
	return append(kind.SameFields[*nodev1.RuntimeClass]("v1beta1"),
		kind.VersionOf(nodev1alpha1.SchemeGroupVersion, fromAlpha, nil))
}

func fromAlpha(old *nodev1alpha1.RuntimeClass) (*nodev1.RuntimeClass, error) {
	out := &nodev1.RuntimeClass{ObjectMeta: old.ObjectMeta, Handler: old.Spec.RuntimeHandler}
	if o := old.Spec.Overhead; o != nil {
		out.Overhead = &nodev1.Overhead{PodFixed: o.PodFixed}
	}
	if s := old.Spec.Scheduling; s != nil {
		out.Scheduling = &nodev1.Scheduling{NodeSelector: s.NodeSelector, Tolerations: s.Tolerations}
	}
	return out, nil
}
