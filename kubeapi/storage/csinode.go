package storage

import (
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec/volume"
)

const maxNodeID = 256

func csiNodeKind() kind.Kind[*storagev1.CSINode] {
	type node = *storagev1.CSINode
	return kind.Kind[node]{
		Representation: kind.Typed[node]{Former: kind.SameFields[node]("v1beta1")},
		Write: kind.Write[node]{
			Validate: kind.Whole(validateCSINode, validateDriversUpdate),
		},
		Delete: kind.Delete[node]{ReturnsObject: true},
		Columns: show.Columns(
			show.Field("Drivers", "spec.drivers",
				"Drivers indicates the number of CSI drivers registered on the node")),
		Status: &kind.Subresource[node]{Metadata: kind.ClientMetadata, Validate: kind.Whole(validateBackends)},
	}
}

// validateDriversUpdate lets of the drivers that stay only what they may allocate change.
func validateDriversUpdate(n, old *storagev1.CSINode) field.ErrorList {
	now := map[string][]storagev1.CSINodeDriver{} // an invalid node has several of a name
	for _, d := range n.Spec.Drivers {
		d.Allocatable = nil
		now[d.Name] = append(now[d.Name], d)
	}
	var errs field.ErrorList
	for _, o := range old.Spec.Drivers {
		o.Allocatable = nil
		for _, d := range now[o.Name] {
			if check.Differs(d, o) {
				errs = append(errs, field.Invalid(field.NewPath("spec", "drivers"), d, check.ImmutableMsg))
			}
		}
	}
	return errs
}

func validateCSINode(n *storagev1.CSINode) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, d := range n.Spec.Drivers {
		path := field.NewPath("spec", "drivers").Index(i)
		errs = append(errs, volume.CSIDriverName(d.Name, path.Child("name"))...)
		if d.NodeID == "" {
			errs = append(errs, field.Required(path.Child("nodeID"), ""))
		} else if len(d.NodeID) > maxNodeID {
			errs = append(errs, field.Invalid(path.Child("nodeID"), d.NodeID, fmt.Sprintf("must be %d characters or less",
				maxNodeID)))
		}
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			errs = append(errs, check.NonNegative(int64(*d.Allocatable.Count), path.Child("allocatable", "count"))...)
		}
		if seen[d.Name] {
			errs = append(errs, field.Duplicate(path.Child("name"), d.Name))
		}
		seen[d.Name] = true
		keys := map[string]bool{}
		for _, k := range d.TopologyKeys {
			if k == "" {
				errs = append(errs, field.Required(path, ""))
			}
			if keys[k] {
				errs = append(errs, field.Duplicate(path, k))
			}
			errs = append(errs, check.QualifiedName(k, path)...)
			keys[k] = true
		}
	}
	return errs
}

// validateBackends validates the health that drivers report of their backends.
func validateBackends(n *storagev1.CSINode) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range n.Status.StorageHealth {
		h, path := &n.Status.StorageHealth[i], field.NewPath("status", "storageHealth").Index(i)
		errs = append(errs, volume.CSIDriverName(h.Name, path.Child("name"))...)
		if seen[h.Name] {
			errs = append(errs, field.Duplicate(path, h.Name))
		}
		seen[h.Name] = true
		path = path.Child("healthConditions")
		if len(h.HealthConditions) > check.MaxHealthConditions {
			errs = append(errs, field.TooMany(path, len(h.HealthConditions), check.MaxHealthConditions))
			continue
		}
		for k, c := range h.HealthConditions {
			errs = append(errs, check.OneOf(c.Status, path.Index(k).Child("status"), storagev1.StorageDegraded,
				storagev1.StorageUnreachable)...)
			errs = append(errs, check.HealthTexts(c.Reason, c.Message, path.Index(k))...)
		}
	}
	return errs
}
