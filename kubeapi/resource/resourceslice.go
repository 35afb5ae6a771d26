package resource

import (
	resourcev1 "k8s.io/api/resource/v1"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

func resourceSliceKind() kind.Kind[*resourcev1.ResourceSlice] {
	type slice = *resourcev1.ResourceSlice
	return kind.Kind[slice]{
		Representation: kind.Typed[slice]{Versions: sliceVersions(), MetadataOnUpdate: kind.MetadataChange},
		Write: kind.Write[slice]{
			Default:          defaultSlice,
			CountsGeneration: true, DropDisabledLast: true, AllowUnconditionalUpdate: kind.Always,
			Validate: check.Markers("Spec", resourcev1.Validate_ResourceSliceSpec, validateSlice),
		},
		Delete: kind.Delete[slice]{ReturnsObject: true},
		Columns: show.Columns(show.Field("Node", "spec.nodeName"),
			show.Path("spec.driver"), show.Field("Pool", "spec.pool.name")),
		Select: kind.Select[slice]{
			Fields:  kind.Fields[slice]("spec.nodeName", "spec.driver", "spec.pool.name"),
			Unknown: "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: %s",
		},
	}
}
