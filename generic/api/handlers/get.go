package handlers

import (
	"context"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane/generic/api/negotiation"
	"triplane/generic/api/rest"
)

// Get serves get.
func Get(scope *RequestScope, r rest.Getter) http.HandlerFunc {
	return scope.get(func(ctx context.Context, name string, req *http.Request) (runtime.Object, error) {
		opts := &metav1.GetOptions{}
		if req.URL.RawQuery != "" {
			query := req.URL.Query()
			if err := refuseExport(query); err != nil {
				return nil, err
			}
			if err := decodeOptions(query, opts); err != nil {
				return nil, err
			}
		}
		return r.Get(ctx, name, opts)
	})
}

// GetWithOptions serves get of a subresource whose query carries more.
func GetWithOptions(scope *RequestScope, r rest.GetterWithOptions) http.HandlerFunc {
	return scope.get(func(ctx context.Context, name string, req *http.Request) (runtime.Object, error) {
		opts := r.NewGetOptions()
		if opts != nil {
			if err := DecodeQuery(req.URL.Query(), opts); err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
		}
		return r.GetWithOptions(ctx, name, opts)
	})
}

func (s *RequestScope) get(read func(ctx context.Context, name string, req *http.Request) (runtime.Object, error)) http.HandlerFunc {
	return s.handler(func(w http.ResponseWriter, req *http.Request) error {
		ctx, _, name, err := s.target(req)
		if err != nil {
			return err
		}
		out, err := negotiation.Negotiate(req, s.rules())
		if err != nil {
			return err
		}
		obj, err := read(ctx, name, req)
		if err != nil {
			return err
		}
		if stream, ok := obj.(rest.Streamer); ok {
			return s.stream(ctx, w, req, stream)
		}
		a := answer{scope: s, w: w, r: req, out: out}
		return a.respond(http.StatusOK, obj)
	})
}

// refuseExport answers clients of long ago.
func refuseExport(query url.Values) error {
	values := query["export"]
	if len(values) == 0 {
		return nil
	}
	export := true
	if err := runtime.Convert_Slice_string_To_bool(&values, &export, nil); err != nil || export {
		return apierrors.NewBadRequest("the export parameter, deprecated since v1.14, is no longer supported")
	}
	return nil
}
