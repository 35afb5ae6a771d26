package core

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
)

var limitTypes = sets.New(corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim)

// LimitType validates what a limit is about: a standard type or a qualified name.
func LimitType(value string, path *field.Path) field.ErrorList {
	errs := check.QualifiedName(value, path)
	if len(errs) == 0 && !strings.Contains(value, "/") && !limitTypes.Has(corev1.LimitType(value)) {
		errs = append(errs, field.Invalid(path, value, "must be a standard limit type or fully qualified"))
	}
	return errs
}

func formatRatio(f float64) string { return strconv.FormatFloat(f, 'f', 6, 64) }
