package handlers

import (
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/httpstream"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/admission"
)

// Connect serves subresources that take over the connection. What goes through it cannot be
// tried without effect, so a dry run is refused.
func Connect(scope *RequestScope) http.HandlerFunc {
	return scope.handler(func(w http.ResponseWriter, req *http.Request) error {
		ctx, namespace, name, err := scope.target(req)
		if err != nil {
			return err
		}
		if req.URL.Query().Has("dryRun") {
			return apierrors.NewBadRequest("dryRun is not supported")
		}
		var opts runtime.Object
		if scope.Storage.NewOptions != nil {
			if opts, err = scope.query(scope.connectQuery(req)); err != nil {
				return err
			}
		}
		if scope.Admission.Handles(admission.Connect) {
			a := scope.operation(ctx, scope.admissionNamespace(namespace, name), name, nil).attributes(admission.Connect,
				opts, nil, nil)
			if err = scope.Admission.Admit(ctx, a); err == nil {
				err = scope.Admission.Validate(ctx, a)
			}
			if err != nil {
				return err
			}
		}
		h, err := scope.Storage.Connect(ctx, rest.ConnectRequest{Name: name, Query: opts,
			Responder: &responder{scope: scope, w: w, r: req}})
		if err != nil {
			return err
		}
		if !httpstream.IsUpgradeRequest(req) { // which takes over the connection of w
			w = request.KeepHeaders(w)
		}
		h.ServeHTTP(w, req.WithContext(ctx))
		return nil
	})
}

// connectQuery is the query, with the rest of the path under its own name.
func (s *RequestScope) connectQuery(req *http.Request) url.Values {
	query := req.URL.Query()
	info := request.InfoFrom(req.Context())
	if s.Storage.ConnectPath == "" || info == nil {
		return query
	}
	first := 2 // behind the resource and the name
	if s.Subresource != "" {
		first = 3
	}
	var p string
	if len(info.Parts) > first {
		p = "/" + strings.TrimPrefix(strings.Join(info.Parts[first:], "/"), "/")
	}
	if strings.HasSuffix(info.Path, "/") && !strings.HasSuffix(p, "/") {
		p += "/"
	}
	query[s.Storage.ConnectPath] = []string{p}
	return query
}

// responder answers for rest.Resource.Connect.
type responder struct {
	scope *RequestScope
	w     http.ResponseWriter
	r     *http.Request
}

// Object implements rest.Responder.
func (r *responder) Object(status int, obj runtime.Object) {
	out, err := negotiation.Negotiate(r.r, r.scope.Rules())
	if err != nil {
		r.Error(err)
		return
	}
	a := responsewriters.Response{Scope: &r.scope.Scope, Writer: r.w, Request: r.r, Output: out}
	if err := a.Write(status, obj); err != nil {
		r.Error(err)
	}
}

// Error implements rest.Responder.
func (r *responder) Error(err error) { r.scope.WriteError(r.w, r.r, err) }
