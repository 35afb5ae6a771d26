package check

import (
	"fmt"
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxSignerDomain = utilvalidation.DNS1123SubdomainMaxLength
	maxSignerPath   = utilvalidation.DNS1123SubdomainMaxLength + utilvalidation.DNS1123LabelMaxLength + 1
)

// SignerName validates the name of a signer of certificates: a domain and a path.
func SignerName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	parts := strings.Split(name, "/")
	if len(parts) != 2 {
		return field.ErrorList{field.Invalid(path, name,
			"must be a fully qualified domain and path of the form 'example.com/signer-name'")}
	}
	var errs field.ErrorList
	domain, signer := parts[0], parts[1]
	if len(domain) > maxSignerDomain {
		errs = append(errs, field.TooLong(path, "", maxSignerDomain))
	}
	labels := strings.Split(domain, ".")
	for _, l := range labels {
		for _, m := range utilvalidation.IsDNS1123Label(l) {
			errs = append(errs, field.Invalid(path, domain, fmt.Sprintf("validating label %q: %s", l, m)))
		}
	}
	if len(labels) < 2 {
		errs = append(errs, field.Invalid(path, domain, "should be a domain with at least two segments separated by dots"))
	}
	for _, l := range strings.Split(signer, ".") {
		for _, m := range utilvalidation.IsDNS1123Subdomain(l) {
			errs = append(errs, field.Invalid(path, signer, fmt.Sprintf("validating label %q: %s", l, m)))
		}
	}
	if limit := maxSignerDomain + maxSignerPath + 1; len(name) > limit {
		errs = append(errs, field.TooLong(path, "", limit))
	}
	return errs
}
