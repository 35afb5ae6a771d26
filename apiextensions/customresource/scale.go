package customresource

import (
	"fmt"
	"math"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	structural "triplane.dev/apiextensions/schema"
	"triplane.dev/generic/api/kind"
)

// scaleSubresource reads and writes replicas where the version has them.
func (v *Version) scaleSubresource() *kind.ScaleSubresource[object] {
	return &kind.ScaleSubresource[object]{
		Get: func(u object) (*kind.Scale, error) {
			if v == v.definition.storage {
				return v.readScale(u.Object)
			}
			shown, err := v.show(u)
			if err != nil {
				return nil, err
			}
			return v.readScale(shown[0].Object)
		},
		Set:           v.setReplicas,
		ReplicasPaths: v.definition.replicasPaths(),
	}
}

// replicasPaths are where the versions have their replicas.
func (d *Definition) replicasPaths() managedfields.ResourcePathMappings {
	paths := managedfields.ResourcePathMappings{}
	for _, v := range d.versions {
		var path fieldpath.Path
		if s := v.scale(); s != nil {
			for _, name := range structural.SimplePath(s.SpecReplicasPath) {
				path = append(path, fieldpath.PathElement{FieldName: &name})
			}
		}
		paths[v.gvk.GroupVersion().String()] = path
	}
	return paths
}

// setReplicas writes the replicas into an object of the hub. What only other versions have a
// place for stays where no webhook converts.
func (v *Version) setReplicas(u object, n int32) error {
	content, err := v.content(u)
	if err != nil {
		return err
	}
	// What is in the way of the path is found by validation.
	_ = unstructured.SetNestedField(content, int64(n), structural.SimplePath(v.scale().SpecReplicasPath)...)
	if v == v.definition.storage {
		return nil
	}
	stored, err := v.codec.convertAll([]object{{Object: content}}, v.definition.storage)
	if err != nil {
		return err
	}
	u.Object = stored[0].Object
	return nil
}

// readScale returns the scale of an object of the version.
func (v *Version) readScale(content map[string]any) (*kind.Scale, error) {
	s, out := v.scale(), &kind.Scale{}
	replicas, found, err := unstructured.NestedInt64(content, structural.SimplePath(s.SpecReplicasPath)...)
	if err != nil {
		return nil, err
	}
	out.Replicas = int32(replicas)
	n, _, err := unstructured.NestedInt64(content, structural.SimplePath(s.StatusReplicasPath)...)
	if err != nil {
		return nil, err
	}
	out.StatusReplicas = int32(n)
	if p := s.LabelSelectorPath; p != nil && *p != "" {
		if out.Selector, _, err = unstructured.NestedString(content, structural.SimplePath(*p)...); err != nil {
			return nil, err
		}
	}
	if !found {
		return out, noReplicas{apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist",
			s.SpecReplicasPath))}
	}
	return out, nil
}

// validateScale validates the fields behind the scale subresource.
func (v *Version) validateScale(content map[string]any) field.ErrorList {
	s := v.scale()
	if s == nil {
		return nil
	}
	return append(validateReplicas(content, s.SpecReplicasPath), v.validateScaleStatus(content)...)
}

// validateScaleStatus validates those of them that an update of the status writes.
func (v *Version) validateScaleStatus(content map[string]any) field.ErrorList {
	s := v.scale()
	if s == nil {
		return nil
	}
	errs := validateReplicas(content, s.StatusReplicasPath)
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

// Is makes it kind.ErrNoReplicas.
func (noReplicas) Is(target error) bool { return target == kind.ErrNoReplicas }
