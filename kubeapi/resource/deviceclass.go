package resource

import (
	resourcev1 "k8s.io/api/resource/v1"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

func deviceClassKind() kind.Kind[*resourcev1.DeviceClass] {
	type class = *resourcev1.DeviceClass
	return kind.Kind[class]{
		Representation: kind.Typed[class]{Versions: kind.SameFields[class](beta2, beta1)},
		Write: kind.Write[class]{
			ValidateName:     check.SubdomainName,
			CountsGeneration: true, AllowUnconditionalUpdate: kind.Always,
			Validate: check.Markers("Spec", resourcev1.Validate_DeviceClassSpec, kind.Whole(validateClass)),
		},
		Delete:  kind.Delete[class]{ReturnsObject: true},
		Columns: show.Columns(),
	}
}
