package discovery

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/routes"
)

// RootService is the document of /apis.
func (g *Groups) RootService() routes.Service {
	return g.single("/apis", "get available API versions", "getAPIVersions", metav1.APIGroupList{}, g.RootHandler())
}

// LegacyService is the document of /api.
func (g *Groups) LegacyService(prefix, address string) routes.Service {
	return g.single(prefix, "get available API versions", "getCoreAPIVersions", metav1.APIVersions{},
		g.LegacyHandler(address))
}

// GroupService is the document of /apis/GROUP.
func (g *Groups) GroupService(name string) routes.Service {
	return g.single("/apis/"+name, "get information of a group", "get"+operationName(name)+"APIGroup", metav1.APIGroup{},
		g.GroupHandler(name, http.HandlerFunc(http.NotFound)))
}

// operationName is how operation ids name a group: RbacAuthorization.
func operationName(group string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(strings.TrimSuffix(group, ".k8s.io"), ".") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

func (g *Groups) single(path, doc, operation string, sample any, h http.Handler) *routes.Document {
	types := g.rules.MediaTypes()
	return &routes.Document{Path: path, Doc: doc, Operation: operation, Sample: sample, Produces: types, Consumes: types,
		Handler: h.ServeHTTP}
}
