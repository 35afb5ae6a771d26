package group

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/rest"
)

// Admit asks validating admission about an object that is answered or acted on but
// not stored. The plugins see a copy; a nil validate admits everything.
func Admit(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc) error {
	if validate == nil {
		return nil
	}
	return validate(ctx, obj.DeepCopyObject())
}
