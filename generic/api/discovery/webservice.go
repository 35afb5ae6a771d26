package discovery

import (
	"net/http"
	"strings"

	"github.com/emicklei/go-restful/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/api/negotiation"
)

// RootWebService is the route of /apis.
func (g *Groups) RootWebService() *restful.WebService {
	return webService("/apis", "get available API versions", "getAPIVersions", metav1.APIGroupList{}, g.RootHandler())
}

// LegacyWebService is the route of /api.
func (g *Groups) LegacyWebService(prefix, address string) *restful.WebService {
	return webService(prefix, "get available API versions", "getCoreAPIVersions", metav1.APIVersions{},
		g.LegacyHandler(address))
}

// GroupWebService is the route of /apis/GROUP.
func (g *Groups) GroupWebService(name string) *restful.WebService {
	return webService("/apis/"+name, "get information of a group", "get"+operationName(name)+"APIGroup", metav1.APIGroup{},
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

func webService(path, doc, operation string, writes any, h http.Handler) *restful.WebService {
	mediaTypes := negotiation.MediaTypes(true)
	ws := new(restful.WebService)
	ws.Path(path).Doc(doc).Produces(mediaTypes...).Consumes(mediaTypes...)
	ws.Route(ws.GET("/").
		To(func(req *restful.Request, resp *restful.Response) { h.ServeHTTP(resp.ResponseWriter, req.Request) }).
		Doc(doc).Operation(operation).
		Returns(http.StatusOK, "OK", writes).
		Writes(writes))
	return ws
}
