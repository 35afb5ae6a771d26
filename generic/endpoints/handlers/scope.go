package handlers

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"triplane/generic/admission"
	"triplane/generic/authorization/authorizer"
	"triplane/generic/registry/rest"
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
	// Kind is the kind that requests carry in this version.
	Kind schema.GroupVersionKind
	// Namespaced tells whether the path names a namespace.
	Namespaced bool

	// Codec reads and writes the objects in the served version.
	Codec rest.Codec
	// Options, where set, reads the bodies of deletions and the queries of
	// subresources; nil takes those of meta.k8s.io/v1.
	Options OptionsDecoder

	// FieldManager tracks who owns which field. It is called on the first write
	// and caches its result; nil, or a nil result, leaves managed fields alone.
	FieldManager func() (*managedfields.FieldManager, error)
	// StrategicMerge tells whether the kind has a Go type whose tags direct
	// strategic merge patches. Custom resources have none.
	StrategicMerge bool

	Admission admission.Chain
	// Authorizer is asked for "create" where an update or apply creates; nil
	// allows it.
	Authorizer authorizer.Authorizer
	// Table shows the objects as a table; nil answers tables with 406.
	Table rest.TableConvertor

	// MaxRequestBodyBytes bounds bodies; 0 means DefaultMaxRequestBodyBytes.
	MaxRequestBodyBytes int64
	// MinRequestTimeout is the lower bound of the random duration of a watch
	// that does not say how long it wants to last; 0 means 30 minutes.
	MinRequestTimeout time.Duration
	// RequestTimeout bounds requests that ask for a timeout themselves; 0 means a
	// minute.
	RequestTimeout time.Duration
	// Terminating, where not nil, is closed when watches have to end because the
	// server shuts down.
	Terminating <-chan struct{}
}

// resource is the group resource of error messages.
func (s *RequestScope) resource() schema.GroupResource { return s.Resource.GroupResource() }
