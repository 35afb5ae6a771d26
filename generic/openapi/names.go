package openapi

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"triplane/generic/openapi/models"
)

// extensionGVK names the kinds that a model is the schema of.
const extensionGVK = "x-kubernetes-group-version-kind"

func gvkExtension(gvk schema.GroupVersionKind) map[string]any {
	return map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}
}

// definitionNamer gives models the extension that names their kinds. Those of
// kinds that every group version has (DeleteOptions) are kept to what keep says.
func definitionNamer(kinds map[string][]schema.GroupVersionKind, keep func(schema.GroupVersion) bool) func(string) (string, spec.Extensions) {
	return func(name string) (string, spec.Extensions) {
		var gvks []any
		for _, gvk := range kinds[name] {
			if !shared(name) || keep(gvk.GroupVersion()) {
				gvks = append(gvks, gvkExtension(gvk))
			}
		}
		if len(gvks) == 0 {
			return models.Name(name), nil
		}
		return models.Name(name), spec.Extensions{extensionGVK: gvks}
	}
}

// shared reports whether a model is of a kind that every group version has.
func shared(name string) bool { return strings.HasPrefix(name, "io.k8s.apimachinery.") }

// operation returns the id and the tag of a route: the id is the route's own, the
// tag is the group and the version of its path.
func operation(r common.Route) (string, []string, error) {
	return r.OperationName(), []string{tag(r.Path())}, nil
}

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
