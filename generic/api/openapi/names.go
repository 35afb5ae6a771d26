package openapi

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// extensionGVK names the kinds that a model is the schema of.
const extensionGVK = "x-kubernetes-group-version-kind"

func gvkExtension(gvk schema.GroupVersionKind) map[string]any {
	return map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}
}

// shared reports whether a model is of a kind that every group version has.
func shared(name string) bool { return strings.HasPrefix(name, "io.k8s.apimachinery.") }

// tag is the group and the version of a path.
func tag(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 1:
		return "core_" + parts[1]
	case parts[0] == "api":
		return "core"
	case parts[0] == "apis" && len(parts) > 2:
		return groupTag(parts[1]) + "_" + parts[2]
	case parts[0] == "apis" && len(parts) == 2:
		return groupTag(parts[1])
	case parts[0] == ".well-known":
		return "WellKnown"
	}
	return parts[0]
}

// groupTag makes "rbacAuthorization" of "rbac.authorization.k8s.io".
func groupTag(group string) string {
	words := strings.Split(strings.TrimSuffix(group, ".k8s.io"), ".")
	for i := range words[1:] {
		if w := words[i+1]; w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// Article stands before a kind in what an operation says it does: " a ", " an ", or a space
// before plurals.
func Article(kind string) string {
	switch {
	case strings.HasSuffix(kind, "s") && !strings.HasSuffix(kind, "ss"):
		return " "
	case kind != "" && strings.ContainsAny(strings.ToLower(kind[:1]), "aeiou"):
		return " an "
	}
	return " a "
}
