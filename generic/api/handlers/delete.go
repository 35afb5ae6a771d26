package handlers

import (
	"context"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/handlers/options"
	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/wire"
)

// Delete serves delete.
func Delete(scope *RequestScope) http.HandlerFunc {
	return scope.handler(func(w http.ResponseWriter, req *http.Request) error {
		ctx, namespace, name, err := scope.target(req)
		if err != nil {
			return err
		}
		out, err := negotiation.Negotiate(req, scope.Rules())
		if err != nil {
			return err
		}
		opts, err := scope.deleteOptions(req)
		if err != nil {
			return err
		}
		op := scope.operation(ctx, scope.admissionNamespace(namespace, name), name, opts.DryRun)
		if err := op.authorizeUnread(ctx, req, opts); err != nil {
			return err
		}
		obj, deleted, err := scope.Storage.Delete(ctx, rest.DeleteRequest{Name: name, Validate: op.validateDelete(opts),
			Options: opts})
		if err != nil {
			return err
		}
		code := http.StatusOK
		// Clients that asked for a cascade in the old way wait for it.
		if !deleted && opts.OrphanDependents != nil && !*opts.OrphanDependents {
			code = http.StatusAccepted
		}
		if obj == nil {
			obj = &metav1.Status{Status: metav1.StatusSuccess, Code: int32(code), Details: &metav1.StatusDetails{Name: name,
				Kind: scope.Kind.Kind}}
		}
		a := responsewriters.Response{Scope: &scope.Scope, Writer: w, Request: req, Output: out}
		return a.Write(code, obj)
	})
}

// DeleteCollection serves deletecollection. A path with an empty namespace (/namespaces//pods) is an error: it would
// delete the objects of all namespaces.
func DeleteCollection(scope *RequestScope) http.HandlerFunc {
	return scope.handler(func(w http.ResponseWriter, req *http.Request) error {
		ctx, namespace, _, err := scope.target(req)
		if err != nil {
			return err
		}
		if scope.Namespaced && namespace == "" {
			return apierrors.NewBadRequest("Namespace parameter required.")
		}
		out, err := negotiation.Negotiate(req, scope.Rules())
		if err != nil {
			return err
		}
		list, err := scope.listOptions(req, "")
		if err != nil {
			return err
		}
		opts, err := scope.deleteOptions(req)
		if err != nil {
			return err
		}
		if ignoresReadError(opts) {
			return options.Invalid("DeleteOptions", field.ErrorList{field.Invalid(ignoreReadErrorPath, true,
				"is not allowed with DELETECOLLECTION, try again after removing the option")})
		}
		op := scope.operation(ctx, namespace, "", opts.DryRun)
		obj, err := scope.Storage.DeleteCollection(ctx, rest.DeleteCollectionRequest{Validate: op.validateDelete(opts),
			Options: opts, List: list})
		if err != nil {
			return err
		}
		if obj == nil {
			obj = &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusOK,
				Details: &metav1.StatusDetails{Kind: scope.Kind.Kind}}
		}
		a := responsewriters.Response{Scope: &scope.Scope, Writer: w, Request: req, Output: out}
		return a.Write(http.StatusOK, obj)
	})
}

// deleteOptions reads the options of a deletion from the body, and if there is none from the query.
func (s *RequestScope) deleteOptions(req *http.Request) (*metav1.DeleteOptions, error) {
	opts := &metav1.DeleteOptions{}
	body, err := s.readBody(req)
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		if opts, err = s.decodeDeleteOptions(req, body); err != nil {
			return nil, err
		}
	} else if req.URL.RawQuery != "" {
		if err := options.Decode(req.URL.Query(), opts); err != nil {
			return nil, err
		}
	}
	if !s.UnreadDeletion {
		opts.IgnoreStoreReadErrorWithClusterBreakingPotential = nil
	}
	if errs := validation.ValidateDeleteOptions(opts); len(errs) > 0 {
		return nil, options.Invalid("DeleteOptions", errs)
	}
	opts.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("DeleteOptions"))
	return opts, nil
}

var ignoreReadErrorPath = field.NewPath("ignoreStoreReadErrorWithClusterBreakingPotential")

func ignoresReadError(opts *metav1.DeleteOptions) bool {
	return ptr.Deref(opts.IgnoreStoreReadErrorWithClusterBreakingPotential, false)
}

// authorizeUnread authorizes the deletion of an unreadable object, if the options request it: besides "delete" it needs
// the verb unsafe-delete-ignore-read-errors.
func (o *operation) authorizeUnread(ctx context.Context, req *http.Request, opts *metav1.DeleteOptions) error {
	if !ignoresReadError(opts) || o.scope.Authorizer == nil {
		return nil
	}
	return o.authorize(ctx, req, "unsafe-delete-ignore-read-errors")
}

func (s *RequestScope) decodeDeleteOptions(req *http.Request, body []byte) (*metav1.DeleteOptions, error) {
	rules := negotiation.Rules{Protobuf: true, CBOR: s.CBOR}
	mt, err := negotiation.NegotiateInput(req, rules)
	if err != nil {
		return nil, err
	}
	codecs := metainternalscheme.Codecs
	if mt == wire.CBOR {
		codecs = codecsWithCBOR()
	}
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), negotiation.Name(mt))
	if !ok {
		return nil, negotiation.UnsupportedMediaType(rules.MediaTypes())
	}
	kind := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
	opts := &metav1.DeleteOptions{}
	obj, got, err := codecs.DecoderToVersion(info.Serializer, kind.GroupVersion()).Decode(body, &kind, opts)
	if err != nil {
		if runtime.IsNotRegisteredError(err) && got != nil {
			err = runtime.NewNotRegisteredErrForKind(metaScheme, *got)
		}
		return nil, apierrors.NewBadRequest(err.Error())
	}
	read, ok := obj.(*metav1.DeleteOptions)
	if !ok {
		return nil, apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
	}
	auditDeleteOptions(req.Context(), read, got)
	return read, nil
}

// codecsWithCBOR read deletion's options where CBOR is allowed.
var codecsWithCBOR = sync.OnceValue(func() serializer.CodecFactory {
	return serializer.NewCodecFactory(metainternalscheme.Scheme, serializer.WithSerializer(cbor.NewSerializerInfo))
})

// metaScheme is what kube-apiserver calls the scheme of deletion's options.
const metaScheme = "pkg/runtime/scheme.go:111"
