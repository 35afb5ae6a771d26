package flowcontrol

import (
	"maps"

	flowv1 "k8s.io/api/flowcontrol/v1"
	flowv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowv1beta3 "k8s.io/api/flowcontrol/v1beta3"

	"triplane.dev/generic/api/kind"
)

// formerLevels are the priority levels of the betas. The first two call the nominal
// shares assured ones; in the third a zero means the default, unless an annotation
// says that it is one.
func formerLevels() []kind.Version[*flowv1.PriorityLevelConfiguration] {
	type level = flowv1.PriorityLevelConfiguration
	const called = "PriorityLevelConfiguration"
	return []kind.Version[*level]{
		kind.VersionOf(flowv1beta3.SchemeGroupVersion.WithKind(called), fromBeta3, nil),
		kind.VersionOf(flowv1beta2.SchemeGroupVersion.WithKind(called),
			func(old *flowv1beta2.PriorityLevelConfiguration) (*level, error) {
				out := &level{}
				err := kind.CopyFields(old, out)
				if old.Spec.Limited != nil && err == nil {
					out.Spec.Limited.NominalConcurrencyShares = shares(old.Spec.Limited.AssuredConcurrencyShares)
				}
				return out, err
			}, nil),
		kind.VersionOf(flowv1beta1.SchemeGroupVersion.WithKind(called),
			func(old *flowv1beta1.PriorityLevelConfiguration) (*level, error) {
				out := &level{}
				err := kind.CopyFields(old, out)
				if old.Spec.Limited != nil && err == nil {
					out.Spec.Limited.NominalConcurrencyShares = shares(old.Spec.Limited.AssuredConcurrencyShares)
				}
				return out, err
			}, nil),
	}
}

func fromBeta3(old *flowv1beta3.PriorityLevelConfiguration) (*flowv1.PriorityLevelConfiguration, error) {
	out := &flowv1.PriorityLevelConfiguration{}
	if err := kind.CopyFields(old, out); err != nil || old.Spec.Limited == nil {
		return out, err
	}
	n := old.Spec.Limited.NominalConcurrencyShares
	out.Spec.Limited.NominalConcurrencyShares = shares(n)
	if _, ok := old.Annotations[flowv1beta3.PriorityLevelPreserveZeroConcurrencySharesKey]; ok {
		out.Annotations = maps.Clone(old.Annotations)
		delete(out.Annotations, flowv1beta3.PriorityLevelPreserveZeroConcurrencySharesKey)
		out.Spec.Limited.NominalConcurrencyShares = &n
	}
	return out, nil
}

// shares leaves 0 to the default.
func shares(n int32) *int32 {
	if n == 0 {
		return nil
	}
	return &n
}
