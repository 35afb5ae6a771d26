package endpoints

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"triplane.dev/generic/api/openapi"
)

const useTheParameter = "deprecated: use the 'watch' parameter with a list operation instead"

func docList(r *Resource) string {
	if watches(r.storage) {
		return "list or watch objects of kind " + r.kind
	}
	return "list objects of kind " + r.kind
}

func docCreate(r *Resource) string {
	return "create" + r.ofSubresource() + openapi.Article(r.kind) + r.kind
}
func docDelete(r *Resource) string {
	return "delete" + r.ofSubresource() + openapi.Article(r.kind) + r.kind
}
func docDeleteCollection(r *Resource) string {
	return "delete collection of " + r.kind
}
func docRead(r *Resource) string { return "read" + r.ofSubresource() + " the specified " + r.kind }
func docReplace(r *Resource) string {
	return "replace" + r.ofSubresource() + " the specified " + r.kind
}
func docPatch(r *Resource) string {
	return "partially update" + r.ofSubresource() + " the specified " + r.kind
}
func docWatch(r *Resource) string {
	return "watch changes to an object of kind " + r.kind + ". " + useTheParameter +
		", filtered to a single item with the 'fieldSelector' parameter."
}
func docWatchList(r *Resource) string {
	return "watch individual changes to a list of " + r.kind + ". " + useTheParameter + "."
}

func docConnect(r *Resource, method string) string {
	if r.subresource == "" {
		return "connect " + method + " requests to " + r.kind
	}
	return "connect " + method + " requests to " + r.subresource + " of " + r.kind
}

func (r *Resource) ofSubresource() string {
	if r.subresource == "" {
		return ""
	}
	return " " + r.subresource + " of"
}

func title(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// groupVersionName is how operation ids call the group version: CoreV1,
// RbacAuthorizationV1.
func (g *APIGroupVersion) groupVersionName() string {
	group := strings.TrimSuffix(g.GroupVersion.Group, ".k8s.io")
	if group == "" {
		group = "core"
	}
	var b strings.Builder
	for part := range strings.SplitSeq(group, ".") {
		b.WriteString(title(part))
	}
	return b.String() + title(g.GroupVersion.Version)
}

// operation is the id of a verb's operation, as kube-apiserver's OpenAPI has it.
func (r *Resource) operation(v *verb, s shape) string {
	middle := ""
	if v.action == "deletecollection" {
		middle = "Collection"
	}
	namespaced := ""
	if r.namespaced() && s != everywhere {
		namespaced = "Namespaced"
	}
	tail := r.kind + title(r.subresource)
	if v.action == "watchlist" {
		tail += "List"
	}
	if s == everywhere {
		tail += "ForAllNamespaces"
	}
	return v.prefix + r.group.groupVersionName() + middle + namespaced + tail
}
