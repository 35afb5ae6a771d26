package endpoints

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/api/watchmetrics"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/guard/admission"
)

// Shared is what the handlers of all group versions of a server have in common.
type Shared struct {
	Admission  admission.Chain
	Authorizer authorizer.Authorizer
	// Served reports whether a resource, or subresource ("pods/status"), is served in a
	// version; nil is in all that it has.
	Served func(gv schema.GroupVersion, path string) bool
	// MaxRequestBodyBytes bounds bodies; larger ones are answered 413.
	MaxRequestBodyBytes int64
	// CBOR lets bodies, answers and watches travel as CBOR.
	CBOR bool
	// UnreadDeletion lets objects be deleted that cannot be read from storage.
	UnreadDeletion bool
	// NoInitialEvents refuses watches that are to begin with what there is.
	NoInitialEvents bool
	// Shards lets lists and watches be of shards.
	Shards bool
	// MinRequestTimeout is the lower bound of a watch's random duration.
	MinRequestTimeout time.Duration
	// Watches counts what watches send; nil counts nothing.
	Watches *watchmetrics.Metrics
}

// APIGroupVersion is one version of an API group: what serves each
// resource and subresource, and what all of its handlers share. Install makes
// routes of it, Resource gives the handlers of one resource without routes.
type APIGroupVersion struct {
	// Root is "/api" for the core group, else "/apis".
	Root         string
	GroupVersion schema.GroupVersion
	// Resources by resource ("pods") and subresource ("pods/status").
	Resources map[string]*rest.Resource
	// Scheme knows the Go types of kinds whose resource brings no codec, and of
	// options. Nil is for group versions whose resources all bring their codecs;
	// nothing in them takes strategic merge patches, which Go types direct.
	Scheme *runtime.Scheme
	// SchemeName is how messages about unknown kinds call the scheme; "" means
	// that of the built-in kinds.
	SchemeName string
	// TypeConverter gives the schema of kinds for managed fields; it is called
	// on the first write.
	TypeConverter func() (managedfields.TypeConverter, error)

	Shared
}
