package resource

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	resourcev1 "k8s.io/api/resource/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/kubeapi/check"
)

// maxAllocatedConfigs are the configurations of a claim and of its classes.
const maxAllocatedConfigs = 64

// deviceID names a device as kube-apiserver shows it.
type deviceID struct{ Driver, Pool, Device, ShareID string }

func validateClaimStatus(c, old claim) field.ErrorList {
	s, path := &c.Status, field.NewPath("status")
	errs := validateReservations(s.ReservedFor, path.Child("reservedFor"))
	errs = append(errs, validateDevices(s, path.Child("devices"))...)
	errs = append(errs, mayReserve(c, old, path.Child("reservedFor"))...)
	switch was := old.Status.Allocation; {
	case s.Allocation == nil:
	case was == nil:
		errs = append(errs, validateAllocation(s.Allocation, namesOf(&c.Spec.Devices), path.Child("allocation"))...)
	default: // the markers of the type keep an allocation
	}
	return errs
}

func validateReservations(list []resourcev1.ResourceClaimConsumerReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if limit := resourcev1.ResourceClaimReservedForMaxSize; len(list) > limit {
		return append(errs, field.TooMany(path, len(list), limit))
	}
	for i, r := range list {
		at := path.Index(i)
		if r.Resource == "" {
			errs = append(errs, field.Required(at.Child("resource"), ""))
		}
		if r.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		if r.UID == "" {
			errs = append(errs, field.Required(at.Child("uid"), ""))
		}
	}
	return append(errs, duplicates(list, func(r *resourcev1.ResourceClaimConsumerReference) types.UID { return r.UID },
		path)...)
}

// mayReserve allows reservations of what is allocated, and new ones until the
// claim is deleted.
func mayReserve(c, old claim, path *field.Path) field.ErrorList {
	switch n := len(c.Status.ReservedFor); {
	case n > 0 && c.Status.Allocation == nil:
		return field.ErrorList{field.Forbidden(path, "may not be specified when `allocated` is not set")}
	case n > len(old.Status.ReservedFor) && c.DeletionTimestamp != nil:
		return field.ErrorList{field.Forbidden(path,
			"new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set")}
	}
	return nil
}

func validateAllocation(a *resourcev1.AllocationResult, names requestNames, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	results := path.Child("devices", "results")
	errs = append(errs, atMost(len(a.Devices.Results), resourcev1.AllocationResultsMaxSize, results)...)
	for i := range a.Devices.Results {
		errs = append(errs, validateResult(&a.Devices.Results[i], names, results.Index(i))...)
	}
	errs = append(errs, atMost(len(a.Devices.Config), maxAllocatedConfigs, path.Child("devices", "config"))...)
	for i := range a.Devices.Config {
		c, at := &a.Devices.Config[i], path.Child("devices", "config").Index(i)
		if c.Source == "" {
			errs = append(errs, field.Required(at.Child("source"), ""))
		} else {
			errs = append(errs, check.OneOf(c.Source, at.Child("source"), resourcev1.AllocationConfigSourceClaim,
				resourcev1.AllocationConfigSourceClass)...)
		}
		errs = append(errs, validateReferences(c.Requests, names, at.Child("requests"))...)
		errs = append(errs, validateConfig(&c.DeviceConfiguration, at)...)
	}
	if a.NodeSelector != nil {
		errs = append(errs, check.NodeSelector(a.NodeSelector, path.Child("nodeSelector"))...)
	}
	return errs
}

func validateResult(r *resourcev1.DeviceRequestAllocationResult, names requestNames, path *field.Path) field.ErrorList {
	errs := validateReference(r.Request, names, path.Child("request"))
	errs = append(errs, validateDeviceID(r.Driver, r.Pool, r.Device, path)...)
	errs = append(errs, validateBinding(r.BindingConditions, r.BindingFailureConditions, path)...)
	for i := range r.Tolerations {
		errs = append(errs, validateTolerationValue(&r.Tolerations[i], path.Child("tolerations").Index(i).Child("value"))...)
	}
	return append(errs, validateShare((*string)(r.ShareID), path.Child("shareID"))...)
}

// validateDeviceID validates what names a device.
func validateDeviceID(driver, pool, device string, path *field.Path) field.ErrorList {
	errs := validateDriver(driver, path.Child("driver"))
	errs = append(errs, validatePool(pool, path.Child("pool"))...)
	return append(errs, check.Label(device, path.Child("device"))...)
}

// validateShare validates what names a share of a device, if it is not allocated as a whole.
func validateShare(id *string, path *field.Path) field.ErrorList {
	if id == nil {
		return nil
	}
	if err := uuid.Validate(*id); err != nil {
		return field.ErrorList{field.Invalid(path, *id, fmt.Sprintf("error validating uid: %v", err))}
	}
	return nil
}

// validatePool validates the name of a pool: DNS subdomains joined by slashes.
func validatePool(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	if len(name) > validation.DNS1123SubdomainMaxLength {
		errs = append(errs, field.TooLong(path, "", validation.DNS1123SubdomainMaxLength))
	}
	for _, part := range strings.Split(name, "/") {
		errs = append(errs, check.Name(validation.IsDNS1123Subdomain(part), part, path)...)
	}
	return errs
}

// statusID names the device that a status is of.
func statusID(d *resourcev1.AllocatedDeviceStatus) deviceID {
	return deviceID{d.Driver, d.Pool, d.Device, ptr.Deref(d.ShareID, "")}
}

func allocatedIn(s *resourcev1.ResourceClaimStatus) map[deviceID]bool {
	if s.Allocation == nil {
		return nil
	}
	allocated := map[deviceID]bool{}
	for _, r := range s.Allocation.Devices.Results {
		allocated[deviceID{r.Driver, r.Pool, r.Device, string(ptr.Deref(r.ShareID, ""))}] = true
	}
	return allocated
}

// forgetDeallocated removes the status of devices that were allocated and no longer are.
func forgetDeallocated(_ context.Context, c, old claim) {
	now, was := &c.Status, &old.Status
	before, allocated := allocatedIn(was), allocatedIn(now)
	if len(before) == 0 {
		return
	}
	kept := slices.DeleteFunc(now.Devices, func(d resourcev1.AllocatedDeviceStatus) bool {
		id := statusID(&d)
		return before[id] && !allocated[id]
	})
	if len(kept) == 0 {
		kept = nil
	}
	now.Devices = kept
}

func validateDevices(s *resourcev1.ResourceClaimStatus, path *field.Path) field.ErrorList {
	allocated := allocatedIn(s)
	var errs field.ErrorList
	for i := range s.Devices {
		d, at := &s.Devices[i], path.Index(i)
		errs = append(errs, validateDeviceID(d.Driver, d.Pool, d.Device, at)...)
		errs = append(errs, validateShare(d.ShareID, at.Child("shareID"))...)
		if id := statusID(d); !allocated[id] {
			errs = append(errs, field.Invalid(at, id, "must be an allocated device in the claim"))
		}
		errs = append(errs, atMost(len(d.Conditions), resourcev1.AllocatedDeviceStatusMaxConditions,
			at.Child("conditions"))...)
		errs = append(errs, metavalidation.ValidateConditions(d.Conditions, at.Child("conditions"))...)
		if d.Data != nil {
			errs = append(errs, validateObject(d.Data.Raw, false, at.Child("data"))...)
		}
		if d.NetworkData != nil {
			errs = append(errs, validateNetwork(d.NetworkData, at.Child("networkData"))...)
		}
	}
	return append(errs, duplicates(s.Devices, statusID, path)...)
}

func validateNetwork(n *resourcev1.NetworkDeviceData, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if limit := resourcev1.NetworkDeviceDataInterfaceNameMaxLength; len(n.InterfaceName) > limit {
		errs = append(errs, field.TooLong(path.Child("interfaceName"), "", limit))
	}
	if limit := resourcev1.NetworkDeviceDataHardwareAddressMaxLength; len(n.HardwareAddress) > limit {
		errs = append(errs, field.TooLong(path.Child("hardwareAddress"), "", limit))
	}
	ips := path.Child("ips")
	if len(n.IPs) > resourcev1.NetworkDeviceDataMaxIPs {
		return append(errs, field.TooMany(ips, len(n.IPs), resourcev1.NetworkDeviceDataMaxIPs))
	}
	for i, ip := range n.IPs {
		errs = append(errs, validation.IsValidInterfaceAddress(ips.Index(i), ip)...)
	}
	return append(errs, duplicates(n.IPs, itself, ips)...)
}
