package storage

import (
	"context"
	"fmt"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/show"
)

func volumeAttributesClassKind() kind.Kind[*storagev1.VolumeAttributesClass] {
	return kind.Kind[*storagev1.VolumeAttributesClass]{
		Hub:            v1.WithKind("VolumeAttributesClass"),
		Representation: kind.Typed[*storagev1.VolumeAttributesClass]{Versions: kind.SameFields[*storagev1.VolumeAttributesClass]("VolumeAttributesClass", "storage.k8s.io/v1beta1")},
		Names:          kind.Names{Plural: "volumeattributesclasses", ShortNames: []string{"vac"}},
		Write: kind.Write[*storagev1.VolumeAttributesClass]{
			Validate: onCreate(validateAttributesClass),
			ValidateUpdate: func(_ context.Context, c, old *storagev1.VolumeAttributesClass) field.ErrorList {
				var errs field.ErrorList
				for _, f := range []struct {
					name    string
					changed bool
				}{{"driverName", c.DriverName != old.DriverName}, {"parameters", check.Differs(c.Parameters, old.Parameters)}} {
					if f.changed {
						errs = append(errs, field.Forbidden(field.NewPath(f.name), fmt.Sprintf("updates to %s are forbidden.", f.name)))
					}
				}
				return append(errs, validateAttributesClass(c)...)
			},
			AllowUnconditionalUpdate: true,
		},
		Delete: kind.Delete[*storagev1.VolumeAttributesClass]{ReturnsObject: true},
		Show: kind.Show[*storagev1.VolumeAttributesClass]{
			Columns: []kind.Column{
				show.Name(), show.Text("DriverName", show.Doc(storagev1.VolumeAttributesClass{}, "driverName")), show.Age(),
			},
			Cells: func(c *storagev1.VolumeAttributesClass, since func(metav1.Time) string) []any {
				name := c.Name
				if c.Annotations["volumeattributesclass.kubernetes.io/is-default-class"] == "true" {
					name += " (default)"
				}
				return []any{name, c.DriverName, since(c.CreationTimestamp)}
			},
		},
	}
}

func validateAttributesClass(c *storagev1.VolumeAttributesClass) field.ErrorList {
	var errs field.ErrorList
	if path := field.NewPath("driverName"); c.DriverName == "" {
		errs = append(errs, field.Required(path, ""))
	} else {
		errs = append(errs, check.QualifiedName(strings.ToLower(c.DriverName), path)...)
	}
	return append(errs, validateParameters(c.Parameters, true, field.NewPath("parameters"))...)
}
