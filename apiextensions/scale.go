package apiextensions

import (
	"fmt"
	"math"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	structural "triplane/apiextensions/schema"
	"triplane/generic/registry"
)

// scaleSubresource reads and writes replicas where the storage version has them,
// or any version where that has no scale.
func (d *definition) scaleSubresource() *registry.ScaleSubresource[object] {
	v := d.storage
	if v.scale() == nil {
		for _, other := range d.served() {
			if other.scale() != nil {
				v = other
				break
			}
		}
	}
	s := v.scale()
	spec := structural.SimplePath(s.SpecReplicasPath)
	return &registry.ScaleSubresource[object]{
		Get:          func(u object) (*registry.Scale, error) { return v.readScale(u) },
		Set:          func(u object, n int32) { _ = unstructured.SetNestedField(u.Object, int64(n), spec...) },
		ReplicasPath: spec,
	}
}

func (v *crVersion) readScale(u object) (*registry.Scale, error) {
	s, out := v.scale(), &registry.Scale{}
	n, found, err := unstructured.NestedInt64(u.Object, structural.SimplePath(s.SpecReplicasPath)...)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q could not be read: %w", s.SpecReplicasPath, err))
	}
	if !found {
		return nil, noReplicas{apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", s.SpecReplicasPath))}
	}
	out.Replicas = int32(n)
	if n, _, err = unstructured.NestedInt64(u.Object, structural.SimplePath(s.StatusReplicasPath)...); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	out.StatusReplicas = int32(n)
	if p := s.LabelSelectorPath; p != nil && *p != "" {
		if out.Selector, _, err = unstructured.NestedString(u.Object, structural.SimplePath(*p)...); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
	}
	return out, nil
}

// validateScale validates the fields behind the scale subresource.
func (v *crVersion) validateScale(content map[string]any) field.ErrorList {
	s := v.scale()
	if s == nil {
		return nil
	}
	errs := validateReplicas(content, s.SpecReplicasPath)
	errs = append(errs, validateReplicas(content, s.StatusReplicasPath)...)
	if p := s.LabelSelectorPath; p != nil && *p != "" {
		if selector, _, err := unstructured.NestedString(content, structural.SimplePath(*p)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*p), selector, err.Error()))
		}
	}
	return errs
}

func validateReplicas(content map[string]any, path string) field.ErrorList {
	if path == "" {
		return nil
	}
	n, _, err := unstructured.NestedInt64(content, structural.SimplePath(path)...)
	at := field.NewPath(path)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(at, n, err.Error())}
	case n < 0:
		return field.ErrorList{field.Invalid(at, n, "should be a non-negative integer")}
	case n > math.MaxInt32:
		return field.ErrorList{field.Invalid(at, n, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))}
	}
	return nil
}

// noReplicas is the error of an object whose scale has nothing to show; a scale
// may be written to it all the same.
type noReplicas struct{ *apierrors.StatusError }

func (e noReplicas) Unwrap() error { return e.StatusError }

// Is makes it registry.ErrNoReplicas.
func (noReplicas) Is(target error) bool { return target == registry.ErrNoReplicas }
