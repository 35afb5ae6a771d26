package handlers

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	library "k8s.io/apimachinery/pkg/util/managedfields"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/managedfields"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/admission"
)

// DefaultMaxRequestBodyBytes is the bound on bodies where a scope gives none.
const DefaultMaxRequestBodyBytes = 3 * 1024 * 1024

// RequestScope is what the handlers of one resource, or subresource, in one
// version share. It is immutable and safe for concurrent use.
type RequestScope struct {
	// Resource is the resource as it stands in the path; Subresource is "status" and so on, "" for the resource itself.
	Resource    schema.GroupVersionResource
	Subresource string
	// Scope has what responses depend on, too.
	responsewriters.Scope
	// Namespaced is true where the path names a namespace.
	Namespaced bool

	// SchemeName is how messages about unknown kinds call the scheme; "" means that of the built-in kinds.
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

	// MaxRequestBodyBytes bounds bodies; 0 means DefaultMaxRequestBodyBytes.
	MaxRequestBodyBytes int64
	// UnreadDeletion lets objects be deleted that cannot be read from storage.
	UnreadDeletion bool
	// MinRequestTimeout is the lower bound of the random duration of a watch
	// that does not say how long it wants to last; 0 means 30 minutes.
	MinRequestTimeout time.Duration
	// NoInitialEvents refuses watches that are to begin with what there is.
	NoInitialEvents bool
	// Shards lets lists and watches be of shards; otherwise shardSelector is ignored.
	Shards bool
	// Deprecation, where not empty, is a warning for every client of the kind.
	Deprecation string
}

// resource is the group resource of error messages.
func (s *RequestScope) resource() schema.GroupResource { return s.Resource.GroupResource() }

// writeTimeout is how long a create, update, patch or delete of one object may take, whatever --request-timeout says.
const writeTimeout = 34 * time.Second

// shortened reports whether a verb is bounded by writeTimeout.
func shortened(verb string) bool {
	return verb == "create" || verb == "update" || verb == "patch" || verb == "delete"
}

// target reads what the path names, and puts the namespace in the context for the storage.
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

// fieldManager returns what keeps managed fields, nil where nothing does.
func (s *RequestScope) fieldManager() (*managedfields.Manager, error) {
	if s.FieldManager == nil {
		return nil, nil
	}
	return s.FieldManager()
}

// VersionsOf are the versions of a resource that has several, nil of others: those of which
// served is true, all if it is nil.
func VersionsOf(r *rest.Resource, served func(schema.GroupVersion) bool) admission.Versions {
	if len(r.Versions) < 2 {
		return nil
	}
	return versions{r, served}
}

type versions struct {
	of     *rest.Resource
	served func(schema.GroupVersion) bool
}

// Served implements admission.Versions.
func (v versions) Served() []schema.GroupVersion {
	all := slices.Clone(v.of.Versions)
	if v.served == nil {
		return all
	}
	return slices.DeleteFunc(all, func(gv schema.GroupVersion) bool { return !v.served(gv) })
}

// Converter implements admission.Versions.
func (v versions) Converter(gv schema.GroupVersion) (admission.Converter, error) {
	return v.of.Codec(gv)
}

// handler answers with the error that serve returns, if it has not answered.
func (s *RequestScope) handler(serve func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := serve(w, r); err != nil {
			s.WriteError(w, r, err)
		}
	}
}
