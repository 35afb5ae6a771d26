package resource

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/show"
)

func resourceSliceKind() kind.Kind[*resourcev1.ResourceSlice] {
	type slice = *resourcev1.ResourceSlice
	return kind.Kind[slice]{
		Hub:            v1.WithKind("ResourceSlice"),
		Representation: kind.Typed[slice]{Versions: sliceVersions(), MetadataOnUpdate: kind.MetadataChange},
		Names:          kind.Names{Plural: "resourceslices"},
		Write: kind.Write[slice]{
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
		Delete: kind.Delete[slice]{ReturnsObject: true},
		Show: kind.Show[slice]{
			Columns: []kind.Column{
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
		Select: kind.Select[slice]{
			Fields: []kind.SelectableField[slice]{
				{Path: "spec.nodeName", Get: func(s slice) string { return ptr.Deref(s.Spec.NodeName, "") }},
				{Path: "spec.driver", Get: func(s slice) string { return s.Spec.Driver }},
			},
			Unknown: "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: %s",
		},
	}
}
