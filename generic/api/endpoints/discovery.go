package endpoints

import (
	"net/http"

	"github.com/emicklei/go-restful/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/negotiation"
)

// discovery is the route of the document that lists the group version's resources.
func (g *APIGroupVersion) discovery(resources []metav1.APIResource) route {
	doc := &metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: g.GroupVersion.String(),
		APIResources: resources,
	}
	if g.GroupVersion.Group == "" {
		// Clients of old know no apiVersion there.
		doc.APIVersion = ""
	}
	types := negotiation.MediaTypes(true)
	h := func(w http.ResponseWriter, r *http.Request) { responsewriters.WriteObject(w, r, http.StatusOK, doc) }
	return route{
		restful.Route{Method: http.MethodGet, Path: g.prefix() + "/", Function: routed(h), Produces: types, Consumes: types},
		func(d *restful.Route) {
			d.Doc, d.Operation = "get available resources", "get"+g.groupVersionName()+"APIResources"
			writes(d, metav1.APIResourceList{}, http.StatusOK)
		},
	}
}
