package storage

import (
	"context"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/volume"
)

const (
	maxErrorMessage = 1024
	// maxMetadataBytes is also what the refusal of a long error message names.
	maxMetadataBytes = 256 * 1024
)

func volumeAttachmentKind() kind.Kind[*storagev1.VolumeAttachment] {
	type attachment = *storagev1.VolumeAttachment
	return kind.Kind[attachment]{
		Representation: kind.Typed[attachment]{Former: kind.SameFields[attachment]("v1beta1", "v1alpha1"),
			MetadataOnStatus: kind.MetadataWhole},
		Write: kind.Write[attachment]{
			Default:  defaultAttachment,
			Validate: validateAttachment,
			Fixed:    []string{"spec"},
		},
		Delete: kind.Delete[attachment]{ReturnsObject: true},
		Columns: show.Columns(
			kind.Column{Name: "Attacher", Format: "name", Field: "spec.attacher"},
			show.Field("PV", "spec.source.persistentVolumeName"), show.Field("Node", "spec.nodeName"),
			show.Path("status.attached")),
		Status: &kind.Subresource[attachment]{Metadata: kind.ClientMetadata, Validate: validateAttachment},
	}
}

func defaultAttachment(a *storagev1.VolumeAttachment) {
	if s := a.Spec.Source.InlineVolumeSpec; s != nil {
		podspec.RoundResources(s.Capacity)
		podspec.DefaultPersistentVolumeSource(&s.PersistentVolumeSource)
	}
}

// validateAttachment validates an attachment whose driver was old, or "" for a new one.
func validateAttachment(_ context.Context, a, stored *storagev1.VolumeAttachment) field.ErrorList {
	old := ""
	if stored != nil {
		old = stored.Spec.Attacher
	}
	path := field.NewPath("spec")
	var errs field.ErrorList
	if old != "" && a.Spec.Attacher != old { // which may be older than the rule
		errs = append(errs, volume.CSIDriverName(a.Spec.Attacher, path.Child("attacher"))...)
	}
	errs = append(errs, validateSource(&a.Spec.Source, path.Child("source"))...)
	errs = append(errs, check.Subdomain(a.Spec.NodeName, path.Child("nodeName"))...)
	status := field.NewPath("status")
	errs = append(errs, validateAttachMetadata(a.Status.AttachmentMetadata, status.Child("attachmentMetadata"))...)
	errs = append(errs, validateVolumeError(a.Status.AttachError, status.Child("attachError"))...)
	errs = append(errs, validateVolumeError(a.Status.DetachError, status.Child("detachError"))...)
	if n := a.Spec.Source.PersistentVolumeName; n != nil {
		errs = append(errs, check.Subdomain(*n, path.Child("source", "persistentVolumeName"))...)
	}
	if old == "" {
		errs = append(errs, volume.DeclaredDriverName(a.Spec.Attacher, path.Child("attacher"))...)
	}
	return errs
}

func validateSource(s *storagev1.VolumeAttachmentSource, path *field.Path) field.ErrorList {
	const exactlyOne = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	switch {
	case s.InlineVolumeSpec == nil && s.PersistentVolumeName == nil:
		return field.ErrorList{field.Required(path, exactlyOne)}
	case s.InlineVolumeSpec != nil && s.PersistentVolumeName != nil:
		return field.ErrorList{field.Forbidden(path, exactlyOne)}
	case s.PersistentVolumeName == nil:
		return volume.InlineVolumeSpec(s.InlineVolumeSpec, path.Child("inlineVolumeSpec"))
	case *s.PersistentVolumeName == "":
		return field.ErrorList{field.Required(path.Child("persistentVolumeName"),
			"must specify non empty persistentVolumeName")}
	}
	return nil
}

func validateAttachMetadata(m map[string]string, path *field.Path) field.ErrorList {
	size := 0
	for k, v := range m {
		size += len(k) + len(v)
	}
	if size > maxMetadataBytes {
		return field.ErrorList{field.TooLong(path, "", maxMetadataBytes)}
	}
	return nil
}

func validateVolumeError(e *storagev1.VolumeError, path *field.Path) field.ErrorList {
	if e == nil {
		return nil
	}
	var errs field.ErrorList
	if len(e.Message) > maxErrorMessage {
		errs = append(errs, field.TooLong(path.Child("message"), "", maxErrorMessage))
	}
	if e.ErrorCode != nil && *e.ErrorCode < 0 {
		errs = append(errs, field.Invalid(path.Child("errorCode"), *e.ErrorCode,
			"must be between 0 and 2147483647, inclusive"))
	}
	return errs
}
