package core

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
)

// configMapKind declares config maps.
func configMapKind() kind.Kind[*corev1.ConfigMap] {
	return kind.Kind[*corev1.ConfigMap]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"cm"}},
		Write: kind.Write[*corev1.ConfigMap]{
			AllowUnconditionalUpdate: kind.Always,
			Validate:                 validateConfigMap,
		},
		Columns: show.Columns(show.AsText(show.Cell("Data", ".data", countData))),
	}
}

func countData(c *corev1.ConfigMap) int64 { return int64(len(c.Data) + len(c.BinaryData)) }

func validateConfigMap(_ context.Context, c, old *corev1.ConfigMap) field.ErrorList {
	var errs field.ErrorList
	if old != nil {
		errs = immutableFlag(c.Immutable, old.Immutable, map[string]bool{
			"data":       equality.Semantic.DeepEqual(c.Data, old.Data),
			"binaryData": reflect.DeepEqual(c.BinaryData, old.BinaryData), // an empty map is a change
		}, "data", "binaryData")
	}
	size := 0
	for _, k := range sets.List(sets.KeySet(c.Data)) {
		errs = append(errs, configKey(k, field.NewPath("data"))...)
		if _, both := c.BinaryData[k]; both {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(k), k, "duplicate of key present in binaryData"))
		}
		size += len(c.Data[k])
	}
	for _, k := range sets.List(sets.KeySet(c.BinaryData)) {
		errs = append(errs, configKey(k, field.NewPath("binaryData"))...)
		size += len(c.BinaryData[k])
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	}
	return errs
}
