package storage

import (
	"context"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

func volumeAttributesClassKind() kind.Kind[*storagev1.VolumeAttributesClass] {
	type class = *storagev1.VolumeAttributesClass
	return kind.Kind[class]{
		Representation: kind.Typed[class]{Versions: kind.SameFields[class]("v1beta1")},
		Names:          kind.Names{ShortNames: []string{"vac"}},
		Write: kind.Write[class]{
			Validate:                 validateAttributesClass,
			AllowUnconditionalUpdate: kind.Always,
		},
		Delete: kind.Delete[class]{ReturnsObject: true},
		Columns: []kind.Column{
			show.NameOrDefault("volumeattributesclass.kubernetes.io"), show.Path("driverName"), show.Age()},
	}
}

func validateAttributesClass(_ context.Context, c, old *storagev1.VolumeAttributesClass) field.ErrorList {
	var errs field.ErrorList
	if old != nil && c.DriverName != old.DriverName {
		errs = append(errs, field.Forbidden(field.NewPath("driverName"), "updates to driverName are forbidden."))
	}
	if old != nil && check.Differs(c.Parameters, old.Parameters) {
		errs = append(errs, field.Forbidden(field.NewPath("parameters"), "updates to parameters are forbidden."))
	}
	if path := field.NewPath("driverName"); c.DriverName == "" {
		errs = append(errs, field.Required(path, ""))
	} else {
		errs = append(errs, check.QualifiedName(strings.ToLower(c.DriverName), path)...)
	}
	return append(errs, validateParameters(c.Parameters, true, field.NewPath("parameters"))...)
}
