package handlers

import (
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/handlers/options"
	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
)

// Get serves get.
func Get(scope *RequestScope) http.HandlerFunc {
	return scope.handler(func(w http.ResponseWriter, req *http.Request) error {
		ctx, _, name, err := scope.target(req)
		if err != nil {
			return err
		}
		out, err := negotiation.Negotiate(req, scope.Rules())
		if err != nil {
			return err
		}
		r := rest.GetRequest{Name: name}
		if scope.Storage.NewOptions != nil {
			r.Query, err = scope.query(req.URL.Query())
		} else {
			r.Options, err = getOptions(req)
		}
		if err != nil {
			return err
		}
		obj, err := scope.Storage.Get(ctx, r)
		if err != nil {
			return err
		}
		if stream, ok := obj.(rest.Streamer); ok {
			return scope.Stream(ctx, w, req, stream)
		}
		a := responsewriters.Response{Scope: &scope.Scope, Writer: w, Request: req, Output: out}
		return a.Write(http.StatusOK, obj)
	})
}

func getOptions(req *http.Request) (*metav1.GetOptions, error) {
	opts := &metav1.GetOptions{}
	if req.URL.RawQuery == "" {
		return opts, nil
	}
	query := req.URL.Query()
	if err := refuseExport(query); err != nil {
		return nil, err
	}
	return opts, options.Decode(query, opts)
}

// query decodes the options of a subresource whose query carries more.
func (s *RequestScope) query(query url.Values) (runtime.Object, error) {
	opts := s.Storage.NewOptions()
	if err := options.DecodeSubresource(query, opts); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return opts, nil
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
