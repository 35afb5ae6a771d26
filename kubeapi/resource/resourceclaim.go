package resource

import (
	"context"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/generic/base/request"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/group"
)

const adminLabel = "resource.kubernetes.io/admin-access"

type claim = *resourcev1.ResourceClaim

func resourceClaimKind(stores *group.Stores, access *statusAccess) kind.Kind[claim] {
	return kind.Kind[claim]{
		Namespaced:     true,
		Representation: kind.Typed[claim]{Versions: claimVersions()},
		Write: kind.Write[claim]{
			Default: defaultWholeClaim,
			Validate: func(ctx context.Context, c, old claim) field.ErrorList {
				if old != nil {
					return nil
				}
				path := field.NewPath("spec")
				errs := append(validateAdminAccess(ctx, stores, &c.Spec, path), validateClaimSpec(&c.Spec, path)...)
				return check.Declared[resourcev1.ResourceClaimSpec]{Rules: resourcev1.Validate_ResourceClaimSpec, Path: path,
					Object: &c.Spec}.Add(ctx, errs)
			},
			Fixed:                    []string{"spec"},
			AllowUnconditionalUpdate: kind.Always,
		},
		Delete: kind.Delete[claim]{ReturnsObject: true},
		Columns: show.Columns(
			show.Cell("State", "A summary of the current state (allocated, pending, reserved, etc.).", claimState)),
		Status: &kind.Subresource[claim]{
			Metadata: kind.ClientMetadata,
			Prepare:  forgetDeallocated,
			Validate: check.Markers("Status", resourcev1.Validate_ResourceClaimStatus,
				func(ctx context.Context, c, old claim) field.ErrorList {
					errs := append(access.validate(ctx, c, old), validateAdminResults(ctx, stores, c, old)...)
					return append(errs, validateClaimStatus(c, old)...)
				}),
			NoTable: true,
		},
	}
}

func claimState(c claim) string {
	var states []string
	if c.DeletionTimestamp != nil {
		states = append(states, "deleted")
	}
	if c.Status.Allocation == nil {
		if c.DeletionTimestamp == nil {
			states = append(states, "pending")
		}
	} else {
		states = append(states, "allocated")
		if len(c.Status.ReservedFor) > 0 {
			states = append(states, "reserved")
		}
	}
	return strings.Join(states, ",")
}

func defaultWholeClaim(c claim) {
	defaultClaim(&c.Spec)
	if a := c.Status.Allocation; a != nil {
		for i := range a.Devices.Results {
			defaultTolerations(a.Devices.Results[i].Tolerations)
		}
	}
}

func defaultClaim(s *resourcev1.ResourceClaimSpec) {
	for i := range s.Devices.Requests {
		r := &s.Devices.Requests[i]
		if e := r.Exactly; e != nil {
			defaultRequest(&e.AllocationMode, &e.Count, e.Tolerations)
		}
		for k := range r.FirstAvailable {
			f := &r.FirstAvailable[k]
			defaultRequest(&f.AllocationMode, &f.Count, f.Tolerations)
		}
	}
}

func defaultRequest(mode *resourcev1.DeviceAllocationMode, count *int64, tolerations []resourcev1.DeviceToleration) {
	if *mode == "" {
		*mode = resourcev1.DeviceAllocationModeExactCount
	}
	if *mode == resourcev1.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
	defaultTolerations(tolerations)
}

func defaultTolerations(tolerations []resourcev1.DeviceToleration) {
	for i := range tolerations {
		if tolerations[i].Operator == "" {
			tolerations[i].Operator = resourcev1.DeviceTolerationOpEqual
		}
	}
}

const adminForbidden = "admin access to devices requires the `" + adminLabel +
	": true` label on the containing namespace"

// validateAdminAccess allows administrators' access in namespaces labelled for
// it alone.
func validateAdminAccess(ctx context.Context, stores *group.Stores, s *resourcev1.ResourceClaimSpec,
	path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, r := range s.Devices.Requests {
		if r.Exactly != nil && ptr.Deref(r.Exactly.AdminAccess, false) && !adminNamespace(ctx, stores) {
			errs = append(errs, field.Forbidden(path.Child("devices", "requests").Index(i).Child("adminAccess"), adminForbidden))
		}
	}
	return errs
}

// validateAdminResults is validateAdminAccess for what is allocated, unless it is so already.
func validateAdminResults(ctx context.Context, stores *group.Stores, c, old claim) field.ErrorList {
	if c.Status.Allocation == nil || !check.Differs(c.Status.Allocation, old.Status.Allocation) {
		return nil
	}
	var errs field.ErrorList
	for i, r := range c.Status.Allocation.Devices.Results {
		if ptr.Deref(r.AdminAccess, false) && !adminNamespace(ctx, stores) {
			errs = append(errs, field.Forbidden(field.NewPath("status", "allocation", "devices",
				"results").Index(i).Child("adminAccess"), adminForbidden))
		}
	}
	return errs
}

// adminNamespace reports whether the request's namespace allows administrators'
// access to devices.
func adminNamespace(ctx context.Context, stores *group.Stores) bool {
	ns, err := group.Namespaces(stores).GetCached(ctx, "", request.NamespaceFrom(ctx))
	return err == nil && ns.Labels[adminLabel] == "true"
}
