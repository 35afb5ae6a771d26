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

	"triplane.dev/generic/api/openapi"
)

// documents publishes the OpenAPI documents of external API servers while they are available. It is safe for
// concurrent use.
type documents struct {
	ctx     context.Context // bounds requests for documents
	service *openapi.Service
	fetcher *fetcher
	// requested has the hashes of documents that a client requested, by path.
	requested sync.Map
}

// remoteSource provides the documents of an external API server, which are fetched on demand.
type remoteSource struct {
	*documents
	service *apiregistrationv1.APIService
}

// set publishes the documents of an APIService's server. It does not replace a local document at the same path,
// for example of a CRD, because nothing would republish it after the APIService is deleted.
func (d *documents) set(s *apiregistrationv1.APIService) {
	if s.Spec.Service == nil || !isAvailable(s) {
		d.remove(s)
		return
	}
	d.service.SetIf(documentPath(s), remoteSource{d, s}, func(present openapi.Source) bool {
		return present == nil || isRemote(present) && !isOf(present, s)
	})
}

// check checks whether a document that a client requested has changed.
func (d *documents) check(s *apiregistrationv1.APIService) {
	had, requested := d.requested.Load(documentPath(s))
	if !requested {
		return
	}
	src := remoteSource{d, s}
	if now := src.hash(); now == "" || now != had {
		// The APIService may have changed or been deleted since.
		d.service.SetIf(documentPath(s), src, func(present openapi.Source) bool { return isOf(present, s) })
	}
}

// remove unpublishes the documents; local group versions keep theirs.
func (d *documents) remove(s *apiregistrationv1.APIService) {
	d.service.SetIf(documentPath(s), nil, isRemote)
	d.requested.Delete(documentPath(s))
}

func isRemote(src openapi.Source) bool {
	_, remote := src.(remoteSource)
	return remote
}

// isOf reports whether a source belongs to an APIService with the current spec.
func isOf(src openapi.Source, s *apiregistrationv1.APIService) bool {
	r, remote := src.(remoteSource)
	return remote && apiequality.Semantic.DeepEqual(r.service.Spec, s.Spec)
}

func documentPath(s *apiregistrationv1.APIService) string { return discoveryPath(s)[1:] }

// Hash implements openapi.Hasher with the hash in the server's index.
func (r remoteSource) Hash() string {
	hash := r.hash()
	r.requested.Store(documentPath(r.service), hash)
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

// V3 implements openapi.Source. If the server does not support OpenAPI v3, it converts the v2 document. Without
// either there is no document.
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

// isMissing reports whether the external server responded that there is no such document.
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
