package aggregator

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	kubeopenapi "k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/openapiconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"triplane/generic/api/openapi"
)

// documents publishes the OpenAPI documents of external API servers while these
// are available. It is safe for concurrent use.
type documents struct {
	ctx     context.Context // ends requests for documents
	service *openapi.Service
	fetcher *fetcher
	// asked are the hashes of documents that a client asked for, by path.
	asked sync.Map
}

// remoteSource gives the documents of an external API server, fetched when a
// client asks for them.
type remoteSource struct {
	*documents
	service *apiregistrationv1.APIService
}

// set publishes the documents of an APIService's server. What is served here at the same
// path, as of a CRD, keeps its own: nobody would publish that again once the APIService is gone.
func (d *documents) set(s *apiregistrationv1.APIService) {
	if s.Spec.Service == nil || !isAvailable(s) {
		d.remove(s)
		return
	}
	d.service.SetIf(documentPath(s), remoteSource{d, s}, func(present openapi.Source) bool {
		return present == nil || isRemote(present) && !isOf(present, s)
	})
}

// check looks whether a document that somebody has is still the server's.
func (d *documents) check(s *apiregistrationv1.APIService) {
	had, asked := d.asked.Load(documentPath(s))
	if !asked {
		return
	}
	src := remoteSource{d, s}
	if now := src.hash(); now == "" || now != had {
		// Meanwhile the APIService may have changed, or gone.
		d.service.SetIf(documentPath(s), src, func(present openapi.Source) bool { return isOf(present, s) })
	}
}

// remove takes the documents back; local group versions keep theirs.
func (d *documents) remove(s *apiregistrationv1.APIService) {
	d.service.SetIf(documentPath(s), nil, isRemote)
	d.asked.Delete(documentPath(s))
}

func isRemote(src openapi.Source) bool {
	_, remote := src.(remoteSource)
	return remote
}

// isOf reports whether a source is that of an APIService as it is specified now.
func isOf(src openapi.Source, s *apiregistrationv1.APIService) bool {
	r, remote := src.(remoteSource)
	return remote && apiequality.Semantic.DeepEqual(r.service.Spec, s.Spec)
}

func documentPath(s *apiregistrationv1.APIService) string { return discoveryPath(s)[1:] }

// Hash implements openapi.Hasher with what the server's own index says.
func (r remoteSource) Hash() string {
	hash := r.hash()
	r.asked.Store(documentPath(r.service), hash)
	return hash
}

func (r remoteSource) hash() string {
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := r.get("/openapi/v3", &index); err != nil {
		return ""
	}
	u, err := url.Parse(index.Paths[documentPath(r.service)].ServerRelativeURL)
	if err != nil {
		return ""
	}
	return u.Query().Get("hash")
}

// V3 implements openapi.Source. What a server that knows no OpenAPI v3 says in
// the older form is converted; one that has neither has no document.
func (r remoteSource) V3(d *openapi.Draft) error {
	doc := &spec3.OpenAPI{}
	err := r.get("/openapi/v3/"+documentPath(r.service), doc)
	if isMissing(err) {
		var old *spec.Swagger
		if old, err = r.swagger(); err == nil {
			doc = openapiconv.ConvertV2ToV3(old)
		}
	}
	switch {
	case isMissing(err):
		return nil
	case err != nil:
		return err
	}
	return d.Whole(doc)
}

// isMissing reports that the external server answered, and has no such document.
func isMissing(err error) bool {
	var status *statusError
	return errors.As(err, &status) && status.code == http.StatusNotFound
}

// V2 implements openapi.Source.
func (r remoteSource) V2(d *openapi.Draft) error {
	doc, err := r.swagger()
	if err != nil {
		return err
	}
	return d.Merge(doc)
}

func (r remoteSource) swagger() (*spec.Swagger, error) {
	doc := &spec.Swagger{}
	if err := r.get("/openapi/v2", doc); err != nil {
		return nil, err
	}
	return kubeopenapi.FilterSpecByPathsWithoutSideEffects(doc, []string{discoveryPath(r.service) + "/"}), nil
}

func (r remoteSource) get(path string, into any) error {
	body, err := r.fetcher.get(r.ctx, r.service, path, "application/json")
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}
