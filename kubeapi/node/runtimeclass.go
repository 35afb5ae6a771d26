package node

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec/podvalidation"
	"triplane.dev/kubeapi/podspec/podwarnings"
)

// runtimeClassKind declares runtime classes; compared says that tolerations may compare
// numbers.
func runtimeClassKind(compared bool) kind.Kind[*nodev1.RuntimeClass] {
	return kind.Kind[*nodev1.RuntimeClass]{
		Representation: kind.Typed[*nodev1.RuntimeClass]{Former: formerClasses(), AnyFinalizer: true},
		Write: kind.Write[*nodev1.RuntimeClass]{
			Validate: func(_ context.Context, c, old *nodev1.RuntimeClass) field.ErrorList {
				if old == nil {
					return append(validate(c, compared), validateHandler(c, content.IsDNS1123Label)...)
				}
				fixed := check.Fixed(c.Handler, old.Handler, field.NewPath("handler"))
				return check.DeclaredLast(slices.Concat(validateHandler(c, validation.IsDNS1123Label), validate(c, compared),
					fixed))
			},
			Warnings: func(_ context.Context, c, _ *nodev1.RuntimeClass) []string {
				if c.Scheduling == nil {
					return nil
				}
				return podwarnings.NodeSelector(c.Scheduling.NodeSelector, field.NewPath("scheduling", "nodeSelector"))
			},
			AllowCreateOnUpdate: true,
		},
		Columns: show.Columns(show.Cell("Handler", "", handler)),
	}
}

// validateHandler validates the handler with isLabel: the message for long ones differs between creations and
// updates.
func validateHandler(c *nodev1.RuntimeClass, isLabel func(string) []string) field.ErrorList {
	path := field.NewPath("handler")
	if c.Handler == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return check.Name(isLabel(c.Handler), c.Handler, path)
}

// validate validates a runtime class but its handler.
func validate(c *nodev1.RuntimeClass, compared bool) field.ErrorList {
	var errs field.ErrorList
	if c.Overhead != nil {
		// The overhead is validated as limits are.
		errs = append(errs, podvalidation.Overhead(c.Overhead.PodFixed, field.NewPath("overhead"))...)
	}
	if s := c.Scheduling; s != nil {
		path := field.NewPath("scheduling")
		errs = append(errs, metavalidation.ValidateLabels(s.NodeSelector, path.Child("nodeSelector"))...)
		errs = append(errs, validateTolerations(s.Tolerations, compared, path.Child("tolerations"))...)
	}
	return errs
}

func validateTolerations(list []corev1.Toleration, compared bool, path *field.Path) field.ErrorList {
	errs := podvalidation.Tolerations(list, compared, path)
	seen := sets.New[toleration]()
	for i := range list {
		t := tolerationOf(list[i])
		if seen.Has(t) {
			errs = append(errs, field.Duplicate(path.Index(i), list[i]))
		}
		seen.Insert(t)
	}
	return errs
}

// toleration is one that can be compared.
type toleration struct {
	corev1.Toleration // without seconds
	bounded           bool
	seconds           int64
}

func tolerationOf(t corev1.Toleration) toleration {
	out := toleration{t, t.TolerationSeconds != nil, ptr.Deref(t.TolerationSeconds, 0)}
	out.TolerationSeconds = nil
	return out
}

func handler(c *nodev1.RuntimeClass) string { return c.Handler }
