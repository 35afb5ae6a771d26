package check

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// PrefixedKey requires a key with a domain, as that of a label.
func PrefixedKey(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return validate.PrefixedLabelKey(context.Background(), operation.Operation{}, path, &name, nil)
}

// ForeignKey requires a key with a domain that is not one of Kubernetes.
func ForeignKey(name string, path *field.Path) field.ErrorList {
	if errs := PrefixedKey(name, path); len(errs) > 0 {
		return errs
	}
	domain, _, _ := strings.Cut(name, "/")
	for _, own := range []string{"k8s.io", "kubernetes.io"} {
		if domain == own || strings.HasSuffix(domain, "."+own) {
			return field.ErrorList{field.Invalid(path, name, "domain names *.k8s.io, *.kubernetes.io are reserved")}
		}
	}
	return nil
}
