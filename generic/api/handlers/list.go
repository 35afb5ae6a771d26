package handlers

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	"k8s.io/apimachinery/pkg/fields"

	"triplane.dev/generic/api/handlers/options"
	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/base/request"
)

// List serves list, and watch where the query asks for it.
func List(scope *RequestScope) http.HandlerFunc { return scope.list(false) }

// Watch serves the paths under /watch/, which need no query to be a watch.
func Watch(scope *RequestScope) http.HandlerFunc { return scope.list(true) }

func (s *RequestScope) list(always bool) http.HandlerFunc {
	return s.handler(func(w http.ResponseWriter, req *http.Request) error {
		ctx, _, name, err := s.target(req)
		if err != nil {
			return err
		}
		rules := s.Rules()
		if rules.CBOR {
			info := request.InfoFrom(ctx)
			rules.Stream = info != nil && info.Verb == "watch"
		}
		out, err := negotiation.Negotiate(req, rules)
		if err != nil {
			return err
		}
		opts, err := s.listOptions(req, name)
		if err != nil {
			return err
		}
		if opts.Watch || always {
			if s.Storage.Watch == nil {
				return apierrors.NewMethodNotSupported(s.resource(), "watch")
			}
			return s.watch(ctx, w, req, opts)
		}
		obj, err := s.Storage.List(ctx, opts)
		if err != nil {
			return err
		}
		a := responsewriters.Response{Scope: &s.Scope, Writer: w, Request: req, Output: out}
		return a.Write(http.StatusOK, obj)
	})
}

// listOptions reads and validates the options of list, watch and deletecollection.
// A name in the path stands for a field selector.
func (s *RequestScope) listOptions(req *http.Request, name string) (*internalversion.ListOptions, error) {
	opts := &internalversion.ListOptions{}
	if req.URL.RawQuery != "" {
		if err := options.Decode(req.URL.Query(), opts); err != nil {
			return nil, err
		}
	}
	if !s.Shards {
		opts.ShardSelector = ""
	}
	internalversion.SetListOptionsDefaults(opts, true)
	if errs := metainternalvalidation.ValidateListOptions(opts, !s.NoInitialEvents); len(errs) > 0 {
		return nil, options.Invalid("ListOptions", errs)
	}
	if opts.FieldSelector != nil && s.Storage.FieldLabel != nil {
		selector, err := opts.FieldSelector.Transform(func(label, value string) (string, string, error) {
			return s.Storage.FieldLabel(s.Kind.GroupVersion(), label, value)
		})
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		opts.FieldSelector = selector
	}
	if name == "" {
		return opts, nil
	}
	if opts.FieldSelector == nil || opts.FieldSelector.Empty() {
		opts.FieldSelector = fields.OneTermEqualSelector("metadata.name", name)
		return opts, nil
	}
	if selected, ok := opts.FieldSelector.RequiresExactMatch("metadata.name"); !ok || selected != name {
		return nil, apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
	}
	return opts, nil
}
