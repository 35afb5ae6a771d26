package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"

	"triplane.dev/generic/api/kind"
)

// The betas. The second has the fields of v1. The first has the parts of an exact
// request in the request itself, and those of a device in one called basic.
const (
	beta1 = "resource.k8s.io/v1beta1"
	beta2 = "resource.k8s.io/v1beta2"
)

func claimVersions() []kind.Version[*resourcev1.ResourceClaim] {
	return append(kind.SameFields[*resourcev1.ResourceClaim]("ResourceClaim", beta2),
		kind.VersionOf(resourcev1beta1.SchemeGroupVersion.WithKind("ResourceClaim"), claimFromBeta, claimToBeta))
}

func claimFromBeta(b *resourcev1beta1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	c := &resourcev1.ResourceClaim{}
	if err := kind.CopyFields(b, c); err != nil {
		return nil, err
	}
	return c, requestsFromBeta(b.Spec.Devices.Requests, c.Spec.Devices.Requests)
}

func claimToBeta(c *resourcev1.ResourceClaim) (*resourcev1beta1.ResourceClaim, error) {
	b := &resourcev1beta1.ResourceClaim{}
	if err := kind.CopyFields(c, b); err != nil {
		return nil, err
	}
	return b, requestsToBeta(c.Spec.Devices.Requests, b.Spec.Devices.Requests)
}

func templateVersions() []kind.Version[*resourcev1.ResourceClaimTemplate] {
	return append(kind.SameFields[*resourcev1.ResourceClaimTemplate]("ResourceClaimTemplate", beta2),
		kind.VersionOf(resourcev1beta1.SchemeGroupVersion.WithKind("ResourceClaimTemplate"), templateFromBeta,
			templateToBeta))
}

func templateFromBeta(b *resourcev1beta1.ResourceClaimTemplate) (*resourcev1.ResourceClaimTemplate, error) {
	t := &resourcev1.ResourceClaimTemplate{}
	if err := kind.CopyFields(b, t); err != nil {
		return nil, err
	}
	return t, requestsFromBeta(b.Spec.Spec.Devices.Requests, t.Spec.Spec.Devices.Requests)
}

func templateToBeta(t *resourcev1.ResourceClaimTemplate) (*resourcev1beta1.ResourceClaimTemplate, error) {
	b := &resourcev1beta1.ResourceClaimTemplate{}
	if err := kind.CopyFields(t, b); err != nil {
		return nil, err
	}
	return b, requestsToBeta(t.Spec.Spec.Devices.Requests, b.Spec.Spec.Devices.Requests)
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
	return append(kind.SameFields[*resourcev1.ResourceSlice]("ResourceSlice", beta2),
		kind.VersionOf(resourcev1beta1.SchemeGroupVersion.WithKind("ResourceSlice"), sliceFromBeta, sliceToBeta))
}

func sliceFromBeta(b *resourcev1beta1.ResourceSlice) (*resourcev1.ResourceSlice, error) {
	s := &resourcev1.ResourceSlice{}
	if err := kind.CopyFields(b, s); err != nil {
		return nil, err
	}
	for i := range b.Spec.Devices {
		if basic := b.Spec.Devices[i].Basic; basic != nil {
			if err := kind.CopyFields(basic, &s.Spec.Devices[i]); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func sliceToBeta(s *resourcev1.ResourceSlice) (*resourcev1beta1.ResourceSlice, error) {
	b := &resourcev1beta1.ResourceSlice{}
	if err := kind.CopyFields(s, b); err != nil {
		return nil, err
	}
	for i := range s.Spec.Devices {
		b.Spec.Devices[i].Basic = &resourcev1beta1.BasicDevice{}
		if err := kind.CopyFields(&s.Spec.Devices[i], b.Spec.Devices[i].Basic); err != nil {
			return nil, err
		}
	}
	return b, nil
}
