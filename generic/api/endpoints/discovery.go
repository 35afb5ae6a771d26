package endpoints

import (
	"net/http"

	"github.com/emicklei/go-restful/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeutil "k8s.io/apimachinery/pkg/util/runtime"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/base/routes"
)

// discovery is the route of the document that lists the group version's resources.
func (g *APIGroupVersion) discovery() routes.Route {
	resources, err := g.Discovered()
	runtimeutil.Must(err) // the group version is installed
	doc := &metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: g.GroupVersion.String(),
		APIResources: resources,
	}
	if g.GroupVersion.Group == "" {
		// Clients of old know no apiVersion there.
		doc.APIVersion = ""
	}
	types := g.rules().MediaTypes()
	h := func(w http.ResponseWriter, r *http.Request) {
		responsewriters.WriteObject(w, r, http.StatusOK, doc, g.rules())
	}
	return routes.Route{
		Method: http.MethodGet, Path: g.prefix() + "/", Handler: served(h), Produces: types, Consumes: types,
		Describe: func(d *restful.Route) {
			d.Doc, d.Operation = "get available resources", "get"+g.groupVersionName()+"APIResources"
			routes.Returns(d, metav1.APIResourceList{}, http.StatusOK)
		},
	}
}
