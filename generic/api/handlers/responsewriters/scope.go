package responsewriters

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/api/watchmetrics"
	"triplane.dev/generic/storage/object"
	"triplane.dev/generic/storage/wire"
)

// Scope is what the responses about one resource, or subresource, in one version share. It is immutable and safe for
// concurrent use.
type Scope struct {
	// Storage serves the resource.
	Storage *rest.Resource
	// Kind is the kind in the served version.
	Kind schema.GroupVersionKind
	// ListKind is the kind of lists; "" means Kind with the suffix "List".
	ListKind string
	// Codec decodes and encodes the objects in the served version.
	Codec rest.Codec
	// Hub is the kind in the hub version, for messages only. Zero means Kind.
	Hub schema.GroupVersionKind
	// Table converts objects to a table; nil rejects requests for tables with 406.
	Table func(ctx context.Context, obj runtime.Object, opts *metav1.TableOptions) (*metav1.Table, error)
	// CBOR accepts CBOR in requests, responses and watches.
	CBOR bool
	// Watches counts the bytes that watches of the resource send; nil counts nothing.
	Watches *watchmetrics.Resource
}

// listKind is the kind of lists in the served version.
func (s *Scope) listKind() schema.GroupVersionKind {
	kind := s.ListKind
	if kind == "" {
		kind = s.Kind.Kind + "List"
	}
	return s.Kind.GroupVersion().WithKind(kind)
}

// Rules are the media types and transformations that responses can have.
func (s *Scope) Rules() negotiation.Rules {
	return negotiation.Rules{
		Protobuf: s.Codec.Supports(wire.Protobuf), CBOR: s.CBOR && s.Codec.Supports(wire.CBOR),
		ProtobufMetadata: true, Transforms: true, Table: s.Table != nil,
	}
}

// GoName is the name in messages of the kind's Go type. kube-apiserver names its internal package.
func (s *Scope) GoName() string {
	kind := s.Hub
	if kind.Kind == "" {
		kind = s.Kind
	}
	if s.Unstructured() {
		return "unstructured.Unstructured"
	}
	group, _, _ := strings.Cut(kind.Group, ".")
	if group == "" || kind.Group == "events.k8s.io" {
		group = "core"
	}
	return group + "." + kind.Kind
}

// Unstructured reports whether the kind has no Go type.
func (s *Scope) Unstructured() bool {
	return !object.Typed(s.Codec.New())
}
