package storageoptions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/storage"
)

// StorageOverride changes how the objects of one resource are stored. It is for programs that embed a server. Zero
// fields leave what the flags and the declaration of the kind say.
type StorageOverride struct {
	// Backend holds the objects in place of the server's storage, under keys below Etcd.Prefix. Several resources may
	// share one. The program closes it after the server has stopped.
	Backend storage.Backend
	// Prefix is the key below Etcd.Prefix, without slashes at its ends: "services/specs".
	Prefix string
	// Version is the storage version, one of those that the kind has. Custom resources have that of their definition.
	Version string
	// MediaType is the encoding, one of those of --storage-media-type. Custom resources are JSON.
	MediaType string
}

// validateStorage returns what is wrong with the overrides.
func (o *Etcd) validateStorage() (errs []error) {
	for _, r := range slices.SortedFunc(maps.Keys(o.Storage),
		func(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) }) {
		override := o.Storage[r]
		if override.Prefix != strings.Trim(override.Prefix, "/") {
			errs = append(errs, fmt.Errorf("storage of %s: prefix %q begins or ends with a slash", r, override.Prefix))
		}
		if _, ok := storedForms[override.MediaType]; !ok && override.MediaType != "" {
			errs = append(errs, fmt.Errorf("storage of %s: media type %q is not supported", r, override.MediaType))
		}
	}
	return errs
}

// apply changes the options of the resource, but for the backend.
func (s StorageOverride) apply(opts *registry.RESTOptions) {
	opts.ResourcePrefix = s.Prefix
	if s.MediaType != "" {
		opts.Form = storedForms[s.MediaType]
	}
	if s.Version == "" {
		return
	}
	opts.StorageVersion = func(versions []schema.GroupVersionKind) schema.GroupVersionKind {
		if i := slices.IndexFunc(versions, func(v schema.GroupVersionKind) bool { return v.Version == s.Version }); i >= 0 {
			return versions[i]
		}
		return schema.GroupVersionKind{}
	}
}
