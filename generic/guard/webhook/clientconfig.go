package webhook

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateURL validates the URL of a webhook: https with a host, without user, query and fragment.
func ValidateURL(text string, path *field.Path) field.ErrorList {
	const form = "; desired format: https://host[/path]"
	u, err := url.Parse(text)
	if err != nil {
		return field.ErrorList{field.Required(path, "url must be a valid URL: "+err.Error()+form)}
	}
	var errs field.ErrorList
	if u.Scheme != "https" {
		errs = append(errs, field.Invalid(path, u.Scheme, "'https' is the only allowed URL scheme"+form))
	}
	if u.Host == "" {
		errs = append(errs, field.Invalid(path, u.Host, "host must be specified"+form))
	}
	if u.User != nil {
		errs = append(errs, field.Invalid(path, u.User.String(), "user information is not permitted in the URL"))
	}
	if u.Fragment != "" {
		errs = append(errs, field.Invalid(path, u.Fragment, "fragments are not permitted in the URL"))
	}
	if u.RawQuery != "" {
		errs = append(errs, field.Invalid(path, u.RawQuery, "query parameters are not permitted in the URL"))
	}
	return errs
}

// ValidateEndpoint validates the port and the path of a webhook's Service; nil means their defaults. path is
// the field path of the Service.
func ValidateEndpoint(port *int32, urlPath *string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if port != nil {
		for _, msg := range validation.IsValidPortNum(int(*port)) {
			errs = append(errs, field.Invalid(path.Child("port"), *port, "port is not valid: "+msg))
		}
	}
	if urlPath != nil {
		errs = append(errs, validateURLPath(*urlPath, path.Child("path"))...)
	}
	return errs
}

// validateURLPath validates a path whose segments are DNS subdomains.
func validateURLPath(text string, path *field.Path) field.ErrorList {
	switch text {
	case "", "/":
		return nil
	case "//":
		return field.ErrorList{field.Invalid(path, text, "segment[0] may not be empty")}
	}
	var errs field.ErrorList
	if !strings.HasPrefix(text, "/") {
		errs = append(errs, field.Invalid(path, text, "must start with a '/'"))
	}
	// The first byte is a slash, or not checked, as in kube-apiserver.
	for i, segment := range strings.Split(strings.TrimSuffix(text[1:], "/"), "/") {
		if segment == "" {
			errs = append(errs, field.Invalid(path, text, fmt.Sprintf("segment[%d] may not be empty", i)))
			continue
		}
		for _, msg := range validation.IsDNS1123Subdomain(segment) {
			errs = append(errs, field.Invalid(path, text, fmt.Sprintf("segment[%d]: %v", i, msg)))
		}
	}
	return errs
}
