package resource

import (
	"context"

	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
	"triplane.dev/kubeapi/show"
)

const maxPoolCondition = 10

func poolRequestKind() kind.Kind[*resourcev1alpha3.ResourcePoolStatusRequest] {
	type request = *resourcev1alpha3.ResourcePoolStatusRequest
	gv := resourcev1alpha3.SchemeGroupVersion
	return kind.Kind[request]{
		Hub:    gv.WithKind("ResourcePoolStatusRequest"),
		Names:  kind.Names{Plural: "resourcepoolstatusrequests"},
		Delete: kind.Delete[request]{ReturnsObject: true},
		Write: kind.Write[request]{
			Default:  func(r request) { defaults.Set(&r.Spec.Limit, resourcev1alpha3.ResourcePoolStatusRequestLimitDefault) },
			Validate: func(_ context.Context, r request) field.ErrorList { return validatePoolRequest(&r.Spec) },
			ValidateUpdate: func(_ context.Context, r, old request) field.ErrorList {
				return check.Immutable(r.Spec, old.Spec, field.NewPath("spec"))
			},
		},
		Show: kind.Show[request]{
			Columns: []kind.Column{
				show.Name(), show.Text("Driver", show.Doc(resourcev1alpha3.ResourcePoolStatusRequestSpec{}, "driver")), show.Age(),
			},
			Cells: func(r request, since func(metav1.Time) string) []any {
				return []any{r.Name, r.Spec.Driver, since(r.CreationTimestamp)}
			},
		},
		Status: &kind.StatusSubresource[request]{
			ValidateUpdate: func(_ context.Context, r, old request) field.ErrorList {
				return validatePoolStatus(r.Status, old.Status)
			},
		},
	}
}

func validatePoolRequest(s *resourcev1alpha3.ResourcePoolStatusRequestSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateDriver(s.Driver, path.Child("driver"))
	if s.PoolName != nil {
		errs = append(errs, validatePool(*s.PoolName, path.Child("poolName"))...)
	}
	if n := s.Limit; n != nil && (*n < 1 || *n > resourcev1alpha3.ResourcePoolStatusRequestLimitMax) {
		errs = append(errs, field.Invalid(path.Child("limit"), *n, "must be between 1 and 1000"))
	}
	return errs
}

// validatePoolStatus validates the answer, which is final.
func validatePoolStatus(s, old *resourcev1alpha3.ResourcePoolStatusRequestStatus) field.ErrorList {
	path := field.NewPath("status")
	if old != nil {
		return check.Immutable(s, old, path)
	}
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	if s.PoolCount == nil {
		errs = append(errs, field.Required(path.Child("poolCount"), ""))
	} else {
		errs = append(errs, check.NonNegative(int64(*s.PoolCount), path.Child("poolCount"))...)
	}
	if n := len(s.Pools); n > int(resourcev1alpha3.ResourcePoolStatusRequestLimitMax) {
		return append(errs, field.TooMany(path.Child("pools"), n, int(resourcev1alpha3.ResourcePoolStatusRequestLimitMax)))
	}
	for i := range s.Pools {
		p, at := &s.Pools[i], path.Child("pools").Index(i)
		errs = append(errs, validateDriver(p.Driver, at.Child("driver"))...)
		errs = append(errs, validatePool(p.PoolName, at.Child("poolName"))...)
		for _, f := range []struct {
			name  string
			value *int32
		}{
			{"totalDevices", p.TotalDevices}, {"allocatedDevices", p.AllocatedDevices},
			{"availableDevices", p.AvailableDevices}, {"unavailableDevices", p.UnavailableDevices},
		} {
			errs = append(errs, check.NonNegativePtr(f.value, at.Child(f.name))...)
		}
	}
	if n := len(s.Conditions); n > maxPoolCondition {
		return append(errs, field.TooMany(path.Child("conditions"), n, maxPoolCondition))
	}
	return append(errs, metavalidation.ValidateConditions(s.Conditions, path.Child("conditions"))...)
}
