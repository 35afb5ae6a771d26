package storage

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane/generic/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/show"
	"triplane/kubeapi/strategy"
)

const (
	maxErrorMessage = 1024
	// maxMetadataBytes is also what the refusal of a long error message names.
	maxMetadataBytes = 256 * 1024
)

func volumeAttachmentKind() registry.Kind[*storagev1.VolumeAttachment] {
	return registry.Kind[*storagev1.VolumeAttachment]{
		Hub:     v1.WithKind("VolumeAttachment"),
		New:     func() *storagev1.VolumeAttachment { return &storagev1.VolumeAttachment{} },
		NewList: func() runtime.Object { return &storagev1.VolumeAttachmentList{} },
		Names:   registry.Names{Plural: "volumeattachments", Singular: "volumeattachment"},
		Write: registry.Write[*storagev1.VolumeAttachment]{
			PrepareForCreate: func(_ context.Context, a *storagev1.VolumeAttachment) { a.Status = storagev1.VolumeAttachmentStatus{} },
			PrepareForUpdate: func(_ context.Context, a, old *storagev1.VolumeAttachment) { a.Status = old.Status },
			Validate: onCreate(func(a *storagev1.VolumeAttachment) field.ErrorList {
				return append(validateAttachment(a), validateAttacher(a.Spec.Attacher, field.NewPath("spec", "attacher"))...)
			}),
			ValidateUpdate: func(_ context.Context, a, old *storagev1.VolumeAttachment) field.ErrorList {
				return append(validateAttachment(a), check.Immutable(a.Spec, old.Spec, field.NewPath("spec"))...)
			},
			ResetFields: strategy.Reset(v1, "status"),
		},
		Delete: registry.Delete[*storagev1.VolumeAttachment]{ReturnsObject: true},
		Show: registry.Show[*storagev1.VolumeAttachment]{
			Columns: []registry.Column{
				show.Name(),
				{Name: "Attacher", Type: "string", Format: "name", Description: show.Doc(storagev1.VolumeAttachmentSpec{}, "attacher")},
				show.Text("PV", show.Doc(storagev1.VolumeAttachmentSource{}, "persistentVolumeName")),
				show.Text("Node", show.Doc(storagev1.VolumeAttachmentSpec{}, "nodeName")),
				show.Bool("Attached", show.Doc(storagev1.VolumeAttachmentStatus{}, "attached")),
				show.Age(),
			},
			Cells: func(a *storagev1.VolumeAttachment, since func(metav1.Time) string) []any {
				return []any{a.Name, a.Spec.Attacher, ptr.Deref(a.Spec.Source.PersistentVolumeName, ""), a.Spec.NodeName, a.Status.Attached, since(a.CreationTimestamp)}
			},
		},
		Status: &registry.StatusSubresource[*storagev1.VolumeAttachment]{
			PrepareForUpdate: func(_ context.Context, a, old *storagev1.VolumeAttachment) {
				a.Spec = old.Spec
				strategy.KeepMetadata(a, old)
			},
			ValidateUpdate: func(_ context.Context, a, _ *storagev1.VolumeAttachment) field.ErrorList {
				return validateAttachment(a)
			},
			ResetFields: strategy.Reset(v1, "metadata", "spec"),
		},
	}
}

// validateAttacher validates what new objects alone are held to.
func validateAttacher(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return nil // said already
	}
	return validateDriverName(name, path)
}

func validateAttachment(a *storagev1.VolumeAttachment) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if a.Spec.Attacher == "" {
		errs = append(errs, field.Required(path.Child("attacher"), ""))
	}
	errs = append(errs, validateSource(&a.Spec.Source, path.Child("source"))...)
	errs = append(errs, check.Subdomain(a.Spec.NodeName, path.Child("nodeName"))...)
	status := field.NewPath("status")
	errs = append(errs, validateAttachMetadata(a.Status.AttachmentMetadata, status.Child("attachmentMetadata"))...)
	errs = append(errs, validateVolumeError(a.Status.AttachError, status.Child("attachError"))...)
	return append(errs, validateVolumeError(a.Status.DetachError, status.Child("detachError"))...)
}

func validateSource(s *storagev1.VolumeAttachmentSource, path *field.Path) field.ErrorList {
	const exactlyOne = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	name := path.Child("persistentVolumeName")
	switch {
	case s.InlineVolumeSpec == nil && s.PersistentVolumeName == nil:
		return field.ErrorList{field.Required(path, exactlyOne)}
	case s.InlineVolumeSpec != nil && s.PersistentVolumeName != nil:
		return field.ErrorList{field.Forbidden(path, exactlyOne)}
	case s.PersistentVolumeName != nil:
		var errs field.ErrorList
		if *s.PersistentVolumeName == "" {
			errs = append(errs, field.Required(name, "must specify non empty persistentVolumeName"))
		}
		return append(errs, check.Subdomain(*s.PersistentVolumeName, name)...)
	}
	return validateInline(s.InlineVolumeSpec, path.Child("inlineVolumeSpec"))
}

func validateInline(s *corev1.PersistentVolumeSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"capacity", len(s.Capacity) > 0},
		{"claimRef", s.ClaimRef != nil},
		{"persistentVolumeReclaimPolicy", s.PersistentVolumeReclaimPolicy != ""},
		{"storageClassName", s.StorageClassName != ""},
	} {
		if f.set {
			errs = append(errs, field.Forbidden(path.Child(f.name), "may not be specified in the context of inline volumes"))
		}
	}
	if s.CSI == nil {
		errs = append(errs, field.Required(path.Child("csi"), "has to be specified in the context of inline volumes"))
		if s.PersistentVolumeSource == (corev1.PersistentVolumeSource{}) {
			errs = append(errs, field.Required(path, "must specify a volume type"))
		}
	}
	return errs
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
		errs = append(errs, field.TooLong(path.Child("message"), "", maxMetadataBytes))
	}
	if e.ErrorCode != nil && *e.ErrorCode < 0 {
		errs = append(errs, field.Invalid(path.Child("errorCode"), *e.ErrorCode, "must be between 0 and 2147483647, inclusive"))
	}
	return errs
}
