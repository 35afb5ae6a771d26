package apiextensions

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane/apiextensions/conversion"
	"triplane/generic/registry"
	"triplane/generic/registry/rest"
)

// deleter deletes objects through a version that a webhook converts to: what
// cannot be shown in the version is not deleted through it.
type deleter struct {
	*registry.Store[object]
	codec rest.Codec
}

func (s *serving) deleter(v *crVersion) rest.GracefulDeleter {
	_, none := s.definition.converter.(conversion.None)
	codec, err := v.codec()
	if none || err != nil || v == s.definition.storage {
		return s.store
	}
	return &deleter{s.store, codec}
}

// Delete implements rest.GracefulDeleter.
func (d *deleter) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, opts *metav1.DeleteOptions) (runtime.Object, bool, error) {
	obj, err := d.Read(ctx, name)
	if err != nil {
		return nil, false, err
	}
	if _, err := d.codec.FromHub(obj); err != nil {
		return nil, false, err
	}
	return d.Store.Delete(ctx, name, validate, opts)
}
