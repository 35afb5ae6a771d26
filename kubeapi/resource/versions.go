package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"

	"triplane.dev/generic/api/kind"
)

// The betas. The second has the fields of v1. The first has the parts of an exact
// request in the request itself, and those of a device in one called basic.
const (
	beta1 = "v1beta1"
	beta2 = "v1beta2"
)

func claimVersions() []kind.Version[claim] {
	return append(kind.SameFields[claim](beta2), kind.SimilarFields(resourcev1beta1.SchemeGroupVersion,
		func(b *resourcev1beta1.ResourceClaim, c claim) error {
			return requestsFromBeta(b.Spec.Devices.Requests, c.Spec.Devices.Requests)
		},
		func(c claim, b *resourcev1beta1.ResourceClaim) error {
			return requestsToBeta(c.Spec.Devices.Requests, b.Spec.Devices.Requests)
		}))
}

func templateVersions() []kind.Version[template] {
	return append(kind.SameFields[template](beta2), kind.SimilarFields(resourcev1beta1.SchemeGroupVersion,
		func(b *resourcev1beta1.ResourceClaimTemplate, t template) error {
			return requestsFromBeta(b.Spec.Spec.Devices.Requests, t.Spec.Spec.Devices.Requests)
		},
		func(t template, b *resourcev1beta1.ResourceClaimTemplate) error {
			return requestsToBeta(t.Spec.Spec.Devices.Requests, b.Spec.Spec.Devices.Requests)
		}))
}

// requestsFromBeta makes exact requests of those that offer no alternatives.
func requestsFromBeta(from []resourcev1beta1.DeviceRequest, to []resourcev1.DeviceRequest) error {
	for i := range from {
		r := from[i]
		exact := r.DeviceClassName != "" || r.Selectors != nil || r.AllocationMode != "" || r.Count != 0 ||
			r.AdminAccess != nil || r.Tolerations != nil || r.Capacity != nil
		if !exact {
			continue
		}
		to[i].Exactly = &resourcev1.ExactDeviceRequest{}
		if err := kind.CopyFields(&r, to[i].Exactly); err != nil {
			return err
		}
	}
	return nil
}

func requestsToBeta(from []resourcev1.DeviceRequest, to []resourcev1beta1.DeviceRequest) error {
	for i := range from {
		if from[i].Exactly == nil {
			continue
		}
		if err := kind.CopyFields(from[i].Exactly, &to[i]); err != nil {
			return err
		}
	}
	return nil
}

func sliceVersions() []kind.Version[*resourcev1.ResourceSlice] {
	return append(kind.SameFields[*resourcev1.ResourceSlice](beta2),
		kind.SimilarFields(resourcev1beta1.SchemeGroupVersion, sliceFromBeta, sliceToBeta))
}

func sliceFromBeta(b *resourcev1beta1.ResourceSlice, s *resourcev1.ResourceSlice) error {
	for i := range b.Spec.Devices {
		if basic := b.Spec.Devices[i].Basic; basic != nil {
			if err := kind.CopyFields(basic, &s.Spec.Devices[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func sliceToBeta(s *resourcev1.ResourceSlice, b *resourcev1beta1.ResourceSlice) error {
	for i := range s.Spec.Devices {
		b.Spec.Devices[i].Basic = &resourcev1beta1.BasicDevice{}
		if err := kind.CopyFields(&s.Spec.Devices[i], b.Spec.Devices[i].Basic); err != nil {
			return err
		}
	}
	return nil
}
