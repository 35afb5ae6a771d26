package resource

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/registry"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/show"
)

func resourceSliceKind() registry.Kind[*resourcev1.ResourceSlice] {
	type slice = *resourcev1.ResourceSlice
	return registry.Kind[slice]{
		Hub:            v1.WithKind("ResourceSlice"),
		Representation: registry.Typed[slice]{Versions: sliceVersions(), MetadataOnUpdate: registry.MetadataChange},
		Names:          registry.Names{Plural: "resourceslices"},
		Write: registry.Write[slice]{
			Default:          defaultSlice,
			CountsGeneration: true,
			Validate: func(ctx context.Context, s slice) field.ErrorList {
				return check.Declared[resourcev1.ResourceSliceSpec]{Rules: resourcev1.Validate_ResourceSliceSpec,
					Path:   field.NewPath("spec"),
					Object: &s.Spec}.Add(ctx, validateSlice(s, nil))
			},
			ValidateUpdate: func(ctx context.Context, s, old slice) field.ErrorList {
				return check.Declared[resourcev1.ResourceSliceSpec]{Rules: resourcev1.Validate_ResourceSliceSpec,
					Path:   field.NewPath("spec"),
					Object: &s.Spec, Old: &old.Spec}.Add(ctx, validateSlice(s, old))
			},
			DropDisabledLast:         true,
			AllowUnconditionalUpdate: true,
		},
		Delete: registry.Delete[slice]{ReturnsObject: true},
		Show: registry.Show[slice]{
			Columns: []registry.Column{
				show.Name(),
				show.Text("Node", show.Doc(resourcev1.ResourceSliceSpec{}, "nodeName")),
				show.Text("Driver", show.Doc(resourcev1.ResourceSliceSpec{}, "driver")),
				show.Text("Pool", show.Doc(resourcev1.ResourcePool{}, "name")),
				show.Age(),
			},
			Cells: func(s slice, since func(metav1.Time) string) []any {
				return []any{s.Name, ptr.Deref(s.Spec.NodeName, ""), s.Spec.Driver, s.Spec.Pool.Name, since(s.CreationTimestamp)}
			},
		},
		Select: registry.Select[slice]{
			Fields: []registry.SelectableField[slice]{
				{Path: "spec.nodeName", Get: func(s slice) string { return ptr.Deref(s.Spec.NodeName, "") }},
				{Path: "spec.driver", Get: func(s slice) string { return s.Spec.Driver }},
			},
			Unknown: "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: %s",
		},
	}
}
