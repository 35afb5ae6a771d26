package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

// Group builds storage.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, storagev1.GroupName, "v1", "v1beta1")
	group.Add(b, storageClassKind())
	group.Add(b, volumeAttributesClassKind())
	group.Add(b, volumeAttachmentKind())
	group.Add(b, csiNodeKind())
	group.Add(b, csiDriverKind(d.Gate("VolumeLimitScaling")))
	group.Add(b, csiStorageCapacityKind())
	return b.Info()
}

const (
	maxParameters = 512
	maxParamBytes = 256 * 1024
)

// validateParameters validates the parameters that a driver gets.
func validateParameters(params map[string]string, required bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(params) > maxParameters {
		return append(errs, field.TooLong(path, "", maxParameters))
	}
	if required && len(params) == 0 {
		errs = append(errs, field.Required(path, "must contain at least one key/value pair"))
	}
	size := 0
	for k, v := range params {
		if k == "" {
			errs = append(errs, field.Invalid(path, k, "field can not be empty."))
		}
		size += len(k) + len(v)
	}
	if size > maxParamBytes {
		errs = append(errs, field.TooLong(path, "", maxParamBytes))
	}
	return errs
}
