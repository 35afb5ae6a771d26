package resource

import (
	"context"
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

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
			Warnings: sliceWarnings,
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

func sliceWarnings(_ context.Context, s, _ *resourcev1.ResourceSlice) []string {
	if s.Spec.Driver == strings.ToLower(s.Spec.Driver) {
		return nil
	}
	return []string{fmt.Sprintf("%s: driver names should be lowercase; %q contains uppercase characters",
		field.NewPath("spec", "driver"), s.Spec.Driver)}
}
