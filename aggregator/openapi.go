package aggregator

import (
	"context"
	"encoding/json"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	kubeopenapi "k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// remoteSource gives the OpenAPI documents of an external API server, fetched
// when a client asks for them.
type remoteSource struct {
	server  *Server
	service *apiregistrationv1.APIService
}

// publishOpenAPI makes a remote APIService's documents known while it is
// available.
func (s *Server) publishOpenAPI(a *apiregistrationv1.APIService) {
	if a.Spec.Service == nil || !isAvailable(a) {
		s.unpublishOpenAPI(a)
		return
	}
	s.config.generic.OpenAPI.Set(documentPath(a), remoteSource{s, a})
}

// unpublishOpenAPI takes them back; local group versions keep theirs.
func (s *Server) unpublishOpenAPI(a *apiregistrationv1.APIService) {
	if s.config.generic.OpenAPI.Is(documentPath(a), func(src any) bool { _, remote := src.(remoteSource); return remote }) {
		s.config.generic.OpenAPI.Remove(documentPath(a))
	}
}

func documentPath(a *apiregistrationv1.APIService) string { return discoveryPath(a)[1:] }

// V3 implements openapi.Source.
func (r remoteSource) V3() (*spec3.OpenAPI, error) {
	doc := &spec3.OpenAPI{}
	return doc, r.get("/openapi/v3/"+documentPath(r.service), doc)
}

// V2 implements openapi.Source.
func (r remoteSource) V2() (*spec.Swagger, error) {
	doc := &spec.Swagger{}
	if err := r.get("/openapi/v2", doc); err != nil {
		return nil, err
	}
	return kubeopenapi.FilterSpecByPathsWithoutSideEffects(doc, []string{discoveryPath(r.service) + "/"}), nil
}

func (r remoteSource) get(path string, into any) error {
	t, err := newTransport(r.service, r.server.config.ProxyClientCert, false)
	if err != nil {
		return err
	}
	defer t.CloseIdleConnections()
	ctx, cancel := withTimeout(context.Background())
	defer cancel()
	body, err := fetch(ctx, t, r.server.available.resolver, r.service, path, "application/json")
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}
