package flowcontrol

import (
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
	return []kind.Version[*level]{
		kind.SimilarFields(flowv1beta3.SchemeGroupVersion, fromBeta3, nil),
		kind.SimilarFields(flowv1beta2.SchemeGroupVersion, func(old *flowv1beta2.PriorityLevelConfiguration, l *level) error {
			if old.Spec.Limited != nil {
				l.Spec.Limited.NominalConcurrencyShares = shares(old.Spec.Limited.AssuredConcurrencyShares)
			}
			return nil
		}, nil),
		kind.SimilarFields(flowv1beta1.SchemeGroupVersion, func(old *flowv1beta1.PriorityLevelConfiguration, l *level) error {
			if old.Spec.Limited != nil {
				l.Spec.Limited.NominalConcurrencyShares = shares(old.Spec.Limited.AssuredConcurrencyShares)
			}
			return nil
		}, nil),
	}
}

func fromBeta3(old *flowv1beta3.PriorityLevelConfiguration, l *flowv1.PriorityLevelConfiguration) error {
	if old.Spec.Limited == nil {
		return nil
	}
	n := old.Spec.Limited.NominalConcurrencyShares
	l.Spec.Limited.NominalConcurrencyShares = shares(n)
	if _, ok := old.Annotations[flowv1beta3.PriorityLevelPreserveZeroConcurrencySharesKey]; ok {
		delete(l.Annotations, flowv1beta3.PriorityLevelPreserveZeroConcurrencySharesKey)
		l.Spec.Limited.NominalConcurrencyShares = &n
	}
	return nil
}

// shares leaves 0 to the default.
func shares(n int32) *int32 {
	if n == 0 {
		return nil
	}
	return &n
}
