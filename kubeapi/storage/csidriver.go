package storage

import (
	"context"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
)

const (
	minTokenSeconds = 10 * 60
	maxTokenSeconds = 1 << 32
	minNodeUpdate   = 10
)

// csiDriverKind declares the CSIDriver; limits says that nodes without a driver may be kept from its pods.
func csiDriverKind(limits bool) kind.Kind[*storagev1.CSIDriver] {
	type driver = *storagev1.CSIDriver
	return kind.Kind[driver]{
		Representation: kind.Typed[driver]{Former: kind.SameFields[driver]("v1beta1"), MetadataOnUpdate: kind.MetadataChange},
		Write: kind.Write[driver]{
			Default: func(d driver) {
				defaultCSIDriver(d)
				if limits {
					defaults.Set(&d.Spec.PreventPodSchedulingIfMissing, false)
				}
			},
			Validate: kind.Whole(validateCSIDriver, validateCSIDriverUpdate),
			Changed:  csiDriverChanged,
			Warnings: csiDriverWarnings,
		},
		Delete: kind.Delete[driver]{ReturnsObject: true},
		Columns: show.Columns(show.Cell("AttachRequired", ".spec.attachRequired", attachRequired),
			show.Path("spec.podInfoOnMount"), show.Path("spec.storageCapacity"),
			show.Cell("TokenRequests", ".spec.tokenRequests", tokenAudiences),
			show.Path("spec.requiresRepublish"),
			show.FieldOr("Modes", "spec.volumeLifecycleModes", show.None)),
	}
}

func defaultCSIDriver(d *storagev1.CSIDriver) {
	s := &d.Spec
	for _, b := range []struct {
		field **bool
		value bool
	}{{&s.AttachRequired, true}, {&s.PodInfoOnMount, false}, {&s.StorageCapacity, false}, {&s.RequiresRepublish, false},
		{&s.SELinuxMount, false}} {
		if *b.field == nil {
			*b.field = ptr.To(b.value)
		}
	}
	if s.FSGroupPolicy == nil {
		s.FSGroupPolicy = ptr.To(storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	}
	if len(s.VolumeLifecycleModes) == 0 {
		s.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}

func validateCSIDriver(d *storagev1.CSIDriver) field.ErrorList {
	var errs field.ErrorList
	s, path := &d.Spec, field.NewPath("spec")
	for _, r := range []struct {
		value *bool
		name  string
	}{{s.AttachRequired, "attachedRequired"}, {s.PodInfoOnMount, "podInfoOnMount"},
		{s.StorageCapacity, "storageCapacity"}} {
		if r.value == nil {
			errs = append(errs, field.Required(path.Child(r.name), ""))
		}
	}
	if p := s.FSGroupPolicy; p != nil {
		errs = append(errs, check.OneOf(*p, path.Child("fsGroupPolicy"), storagev1.FileFSGroupPolicy,
			storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)...)
	}
	errs = append(errs, validateTokenRequests(s.TokenRequests, path.Child("tokenRequests"))...)
	for _, m := range s.VolumeLifecycleModes {
		errs = append(errs, check.OneOf(m, path.Child("volumeLifecycleModes"), storagev1.VolumeLifecyclePersistent,
			storagev1.VolumeLifecycleEphemeral)...)
	}
	if s.SELinuxMount == nil {
		errs = append(errs, field.Required(path.Child("seLinuxMount"), ""))
	}
	if n := s.NodeAllocatableUpdatePeriodSeconds; n != nil && *n < minNodeUpdate {
		errs = append(errs, field.Invalid(path.Child("nodeAllocatableUpdatePeriodSeconds"), *n,
			"must be greater than or equal to 10 seconds"))
	}
	if s.ServiceAccountTokenInSecrets != nil && len(s.TokenRequests) == 0 {
		errs = append(errs, field.Invalid(path.Child("serviceAccountTokenInSecrets"), *s.ServiceAccountTokenInSecrets,
			"serviceAccountTokenInSecrets is set but no tokenRequests are specified"))
	}
	return errs
}

func validateTokenRequests(rs []storagev1.TokenRequest, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	const seconds = "expirationSeconds"
	seen := map[string]bool{}
	for i, r := range rs {
		at := path.Index(i)
		if seen[r.Audience] {
			errs = append(errs, field.Duplicate(at.Child("audience"), r.Audience))
			continue
		}
		seen[r.Audience] = true
		if r.ExpirationSeconds == nil {
			continue
		}
		if *r.ExpirationSeconds < minTokenSeconds {
			errs = append(errs, field.Invalid(at.Child(seconds), *r.ExpirationSeconds,
				"may not specify a duration less than 10 minutes"))
		}
		if *r.ExpirationSeconds > maxTokenSeconds {
			errs = append(errs, field.Invalid(at.Child(seconds), *r.ExpirationSeconds,
				"may not specify a duration larger than 2^32 seconds"))
		}
	}
	return errs
}

func attachRequired(d *storagev1.CSIDriver) bool { return ptr.Deref(d.Spec.AttachRequired, true) }

func tokenAudiences(d *storagev1.CSIDriver) string {
	if d.Spec.TokenRequests == nil {
		return "<unset>"
	}
	audiences := make([]string, len(d.Spec.TokenRequests))
	for i := range audiences {
		audiences[i] = d.Spec.TokenRequests[i].Audience
	}
	return strings.Join(audiences, ",")
}

// csiDriverChanged reports a change of what an update may change.
func csiDriverChanged(d, old *storagev1.CSIDriver) bool {
	now, before := d.Spec, old.Spec
	now.AttachRequired, now.VolumeLifecycleModes = before.AttachRequired, before.VolumeLifecycleModes
	return check.Differs(now, before)
}

func csiDriverWarnings(_ context.Context, d, old *storagev1.CSIDriver) []string {
	if old != nil && !check.Differs(d.Spec.TokenRequests, old.Spec.TokenRequests) {
		return nil
	}
	if len(d.Spec.TokenRequests) > 0 && d.Spec.ServiceAccountTokenInSecrets == nil {
		return []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes"}
	}
	return nil
}

func validateCSIDriverUpdate(d, old *storagev1.CSIDriver) field.ErrorList {
	path := field.NewPath("spec")
	return append(check.Immutable(d.Spec.AttachRequired, old.Spec.AttachRequired, path.Child("attachedRequired")),
		check.Immutable(d.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes,
			path.Child("volumeLifecycleModes"))...)
}
