package resource

import (
	"context"
	"strconv"

	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
)

const maxPoolCondition = 10

func poolRequestKind() kind.Kind[*resourcev1alpha3.ResourcePoolStatusRequest] {
	type request = *resourcev1alpha3.ResourcePoolStatusRequest
	return kind.Kind[request]{
		Delete: kind.Delete[request]{ReturnsObject: true},
		Write: kind.Write[request]{
			Default: func(r request) {
				defaults.Set(&r.Spec.Limit, resourcev1alpha3.ResourcePoolStatusRequestLimitDefault)
			},
			Validate: kind.OnCreate(validatePoolRequest),
			Fixed:    []string{"spec"},
		},
		Columns: []kind.Column{
			show.Name(), show.Text("Driver", "The driver to query pools for."),
			show.Text("Total", "Total number of devices across all pools."),
			show.Text("Available", "Number of available devices across all pools."),
			show.Text("Allocated", "Number of allocated devices across all pools."),
			show.Text("Unavailable", "Number of unavailable devices across all pools."),
			show.Text("Errors", "Number of pools with validation errors."),
			{Name: "Pools", Type: "integer", Description: "Total number of matching pools."},
			show.Text("Status", "Processing status."),
			show.Text("Completed", "Time since the observation completed."),
		},
		Show:   kind.Show[request]{Cells: poolStatusCells},
		Status: &kind.Subresource[request]{Metadata: kind.ClientMetadata, Validate: validatePoolStatus},
	}
}

// poolStatusCells shows the sums of all pools, which are unknown before the status is set and after a failure.
func poolStatusCells(r *resourcev1alpha3.ResourcePoolStatusRequest, since func(metav1.Time) string) []any {
	complete, failed := resourcev1alpha3.ResourcePoolStatusRequestConditionComplete,
		resourcev1alpha3.ResourcePoolStatusRequestConditionFailed
	pools, state, completed := int32(0), "Pending", show.None
	counts := []any{"-", "-", "-", "-", "-"}
	if s := r.Status; s != nil {
		pools = ptr.Deref(s.PoolCount, 0)
		if c := meta.FindStatusCondition(s.Conditions, complete); c != nil && c.Status == metav1.ConditionTrue {
			state, completed = complete, since(c.LastTransitionTime)
		} else if meta.IsStatusConditionTrue(s.Conditions, failed) {
			state = failed
		}
		if state != failed {
			counts = countDevices(s.Pools)
		}
	}
	return append(append([]any{r.Name, r.Spec.Driver}, counts...), int64(pools), state, completed)
}

func countDevices(pools []resourcev1alpha3.PoolStatus) []any {
	var total, available, allocated, unavailable, invalid int64
	for i := range pools {
		p := &pools[i]
		total += int64(ptr.Deref(p.TotalDevices, 0))
		available += int64(ptr.Deref(p.AvailableDevices, 0))
		allocated += int64(ptr.Deref(p.AllocatedDevices, 0))
		unavailable += int64(ptr.Deref(p.UnavailableDevices, 0))
		if p.ValidationError != nil {
			invalid++
		}
	}
	cells := make([]any, 0, 5)
	for _, n := range []int64{total, available, allocated, unavailable, invalid} {
		cells = append(cells, strconv.FormatInt(n, 10))
	}
	return cells
}

func validatePoolRequest(r *resourcev1alpha3.ResourcePoolStatusRequest) field.ErrorList {
	s, path := &r.Spec, field.NewPath("spec")
	errs := validateDriver(s.Driver, path.Child("driver"))
	if s.PoolName != nil {
		errs = append(errs, validatePool(*s.PoolName, path.Child("poolName"))...)
	}
	switch n := s.Limit; {
	case n == nil:
	case *n < 1:
		errs = append(errs, field.Invalid(path.Child("limit"), *n, "must be greater than or equal to 1"))
	case *n > resourcev1alpha3.ResourcePoolStatusRequestLimitMax:
		errs = append(errs, field.Invalid(path.Child("limit"), *n, "must be less than or equal to 1000"))
	}
	return errs
}

// validatePoolStatus validates the answer, which is final.
func validatePoolStatus(_ context.Context, r, stored *resourcev1alpha3.ResourcePoolStatusRequest) field.ErrorList {
	s, old, path := r.Status, stored.Status, field.NewPath("status")
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
