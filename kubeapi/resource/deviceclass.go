package resource

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/show"
)

func deviceClassKind() kind.Kind[*resourcev1.DeviceClass] {
	type class = *resourcev1.DeviceClass
	return kind.Kind[class]{
		Hub:            v1.WithKind("DeviceClass"),
		Representation: kind.Typed[class]{Versions: kind.SameFields[class]("DeviceClass", beta2, beta1)},
		Names:          kind.Names{Plural: "deviceclasses"},
		Write: kind.Write[class]{
			ValidateName:     check.SubdomainName,
			CountsGeneration: true,
			Validate: func(ctx context.Context, c class) field.ErrorList {
				return check.Declared[resourcev1.DeviceClassSpec]{Rules: resourcev1.Validate_DeviceClassSpec,
					Path:   field.NewPath("spec"),
					Object: &c.Spec}.Add(ctx, validateClass(c))
			},
			ValidateUpdate: func(ctx context.Context, c, old class) field.ErrorList {
				return check.Declared[resourcev1.DeviceClassSpec]{Rules: resourcev1.Validate_DeviceClassSpec,
					Path:   field.NewPath("spec"),
					Object: &c.Spec, Old: &old.Spec}.Add(ctx, validateClass(c))
			},
			AllowUnconditionalUpdate: true,
		},
		Delete: kind.Delete[class]{ReturnsObject: true},
		Show: kind.Show[class]{
			Columns: []kind.Column{show.Name(), show.Age()},
			Cells:   func(c class, since func(metav1.Time) string) []any { return []any{c.Name, since(c.CreationTimestamp)} },
		},
	}
}
