package encryption

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// notEncrypted are internal records of the server. Other replicas and kube-apiserver must be able to read them
// with any configuration. No wildcard matches them.
var notEncrypted = []string{"serviceipallocations", "servicenodeportallocations", "apiserveripinfo"}

func neverEncrypted(r schema.GroupResource) bool {
	return r.Group == "" && slices.Contains(notEncrypted, r.Resource)
}

// matches reports whether an entry of a configuration's resources matches a resource.
func matches(entry string, r schema.GroupResource) bool {
	resource, group, _ := strings.Cut(entry, ".")
	return (group == "*" && resource == "*") ||
		(group == r.Group && (resource == "*" || resource == r.Resource))
}

func validateResources(resources []string, path *field.Path) field.ErrorList {
	if len(resources) == 0 {
		return field.ErrorList{field.Required(path, "at least one resource is required")}
	}
	var errs field.ErrorList
	for i, entry := range resources {
		at := path.Index(i)
		if msg := invalidResource(entry); msg != "" {
			errs = append(errs, field.Invalid(at, entry, msg))
			continue
		}
		if slices.Contains(resources[:i], entry) {
			errs = append(errs, field.Duplicate(at, entry))
			continue
		}
		for _, other := range resources {
			if other != entry && invalidResource(other) == "" && covers(other, entry) {
				errs = append(errs, field.Invalid(at, entry, fmt.Sprintf(
					"using overlapping resources such as %q and %q in the same resource list is not allowed as they will be masked",
					other, entry)))
				break
			}
		}
	}
	return errs
}

// covers reports whether a wildcard matches everything that another entry matches.
func covers(wildcard, entry string) bool {
	if wildcard == "*.*" {
		return true
	}
	resource, group, _ := strings.Cut(wildcard, ".")
	_, entryGroup, _ := strings.Cut(entry, ".")
	return resource == "*" && group == entryGroup
}

func isWildcard(entry string) bool { return strings.HasPrefix(entry, "*.") }

// invalidResource returns the error message for an invalid entry, or "".
func invalidResource(entry string) string {
	resource, group, _ := strings.Cut(entry, ".")
	switch {
	case entry == "" || resource == "":
		return "a resource cannot be empty"
	case entry == "*":
		return `use "*." instead of "*" for all resources of the core group, or "*.*" for all resources`
	case strings.ToLower(entry) != entry:
		return "a resource must be in lower case"
	case strings.Contains(entry, "/"):
		return "a subresource has no storage of its own"
	case strings.Contains(resource, "*") && resource != "*", strings.Contains(group, "*") && entry != "*.*":
		return "a wildcard stands alone: *.GROUP, *. or *.*"
	case neverEncrypted(schema.GroupResource{Group: group, Resource: resource}):
		return "this resource cannot be encrypted"
	case group == "extensions":
		return "the extensions group is not served, name the group that the resource is in today"
	case group == "events.k8s.io":
		return `objects of events.k8s.io are stored as those of the core group, use "events"`
	}
	return ""
}
