package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	library "k8s.io/apimachinery/pkg/util/managedfields"

	"triplane.dev/generic/api/managedfields"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/api/watchmetrics"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/storage/object"
	"triplane.dev/generic/storage/wire"
)

// DefaultMaxRequestBodyBytes is the bound on bodies where a scope gives none.
const DefaultMaxRequestBodyBytes = 3 * 1024 * 1024

// RequestScope is what the handlers of one resource, or subresource, in one
// version share. It is immutable and safe for concurrent use.
type RequestScope struct {
	// Resource is the resource as it stands in the path; Subresource is "status"
	// and so on, "" for the resource itself.
	Resource    schema.GroupVersionResource
	Subresource string
	// Storage is what serves the resource.
	Storage *rest.Resource
	// Kind is the kind that requests carry in this version.
	Kind schema.GroupVersionKind
	// ListKind is the kind of lists; "" means Kind with "List" behind it.
	ListKind string
	// Namespaced is true where the path names a namespace.
	Namespaced bool

	// Codec reads and writes the objects in the served version.
	Codec rest.Codec
	// Hub names the kind in the version that objects have behind the handlers;
	// only messages show it. Zero means Kind.
	Hub schema.GroupVersionKind
	// SchemeName is how messages about unknown kinds call the scheme; "" means
	// that of the built-in kinds.
	SchemeName string

	// FieldManager tracks who owns which field. It is called on the first write
	// and caches its result; nil, or a nil result, leaves managed fields alone.
	FieldManager func() (*managedfields.Manager, error)
	// StrategicMerge is true where the kind has a Go type whose tags direct
	// strategic merge patches. Custom resources have none.
	StrategicMerge bool

	Admission admission.Chain
	// Versions are those in which the resource is served, and Types knows the
	// structure of its objects; both are for admission, and may be nil.
	Versions admission.Versions
	Types    func() (library.TypeConverter, error)
	// Authorizer is asked for "create" where an update or apply creates, and for
	// the deletion of what cannot be read; nil allows both.
	Authorizer authorizer.Authorizer
	// Table shows the objects as a table; nil answers tables with 406.
	Table func(ctx context.Context, obj runtime.Object, opts *metav1.TableOptions) (*metav1.Table, error)

	// MaxRequestBodyBytes bounds bodies; 0 means DefaultMaxRequestBodyBytes.
	MaxRequestBodyBytes int64
	// CBOR lets bodies, answers and watches travel as CBOR.
	CBOR bool
	// UnreadDeletion lets objects be deleted that cannot be read from storage.
	UnreadDeletion bool
	// MinRequestTimeout is the lower bound of the random duration of a watch
	// that does not say how long it wants to last; 0 means 30 minutes.
	MinRequestTimeout time.Duration
	// NoInitialEvents refuses watches that are to begin with what there is.
	NoInitialEvents bool
	// Shards lets lists and watches be of shards; otherwise shardSelector is ignored.
	Shards bool
	// Watches counts what watches of the resource send; nil counts nothing.
	Watches *watchmetrics.Resource
	// Deprecation, where not empty, is a warning for every client of the kind.
	Deprecation string
}

// resource is the group resource of error messages.
func (s *RequestScope) resource() schema.GroupResource { return s.Resource.GroupResource() }

// listKind is the kind of lists in the served version.
func (s *RequestScope) listKind() schema.GroupVersionKind {
	kind := s.ListKind
	if kind == "" {
		kind = s.Kind.Kind + "List"
	}
	return s.Kind.GroupVersion().WithKind(kind)
}

// rules are what the resource's answers can look like.
func (s *RequestScope) rules() negotiation.Rules {
	return negotiation.Rules{
		Protobuf: s.Codec.Supports(wire.Protobuf), CBOR: s.CBOR && s.Codec.Supports(wire.CBOR),
		ProtobufMetadata: true, Transforms: true, Table: s.Table != nil,
	}
}

// goName is how messages call the kind's Go type, which kube-apiserver names by
// its internal package.
func (s *RequestScope) goName() string {
	kind := s.Hub
	if kind.Kind == "" {
		kind = s.Kind
	}
	if s.unstructured() {
		return "unstructured.Unstructured"
	}
	group, _, _ := strings.Cut(kind.Group, ".")
	if group == "" || kind.Group == "events.k8s.io" {
		group = "core"
	}
	return group + "." + kind.Kind
}

// unstructured reports whether the kind has no Go type.
func (s *RequestScope) unstructured() bool {
	return !object.Typed(s.Codec.New())
}

// writeTimeout is how long a create, update, patch or delete of one object may take, whatever --request-timeout says.
const writeTimeout = 34 * time.Second

// shortened reports whether a verb is bounded by writeTimeout.
func shortened(verb string) bool {
	return verb == "create" || verb == "update" || verb == "patch" || verb == "delete"
}

// target reads what the path names, and puts the namespace in the context for
// the storage.
func (s *RequestScope) target(r *http.Request) (ctx context.Context, namespace, name string, err error) {
	ctx = r.Context()
	info := request.InfoFrom(ctx)
	if info == nil {
		return nil, "", "", errors.New("no RequestInfo found in the context")
	}
	if state := request.StateFrom(ctx); state != nil && shortened(info.Verb) {
		state.Shorten(state.Received.Add(writeTimeout))
	}
	if s.Deprecation != "" {
		request.AddWarning(ctx, s.Deprecation)
		auditDeprecation(ctx, s.Deprecation)
		if state := request.StateFrom(ctx); state != nil {
			state.Deprecation = s.Deprecation
		}
	}
	if s.Namespaced {
		namespace = info.Namespace
	}
	if namespace != "" {
		ctx = request.WithNamespace(ctx, namespace)
	}
	return ctx, namespace, info.Name, nil
}
