package negotiation

import (
	"fmt"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/storage/wire"
)

// Name is the media type as headers name it.
func Name(mt wire.MediaType) string {
	switch mt {
	case wire.YAML:
		return "application/yaml"
	case wire.Protobuf:
		return "application/vnd.kubernetes.protobuf"
	case wire.CBOR:
		return "application/cbor"
	}
	return "application/json"
}

// StreamName is the media type of a watch.
func StreamName(mt wire.MediaType) string {
	switch mt {
	case wire.Protobuf:
		return "application/vnd.kubernetes.protobuf;stream=watch"
	case wire.CBOR:
		return "application/cbor-seq"
	}
	return "application/json"
}

var (
	allTypes     = []wire.MediaType{wire.JSON, wire.YAML, wire.Protobuf, wire.CBOR}
	withProtobuf = allTypes[:3]
	textTypes    = allTypes[:2]
	withCBOR     = []wire.MediaType{wire.JSON, wire.YAML, wire.CBOR}
)

func (r Rules) supported() []wire.MediaType {
	protobuf := r.Protobuf || r.ProtobufMetadata
	switch {
	case protobuf && r.CBOR:
		return allTypes
	case protobuf:
		return withProtobuf
	case r.CBOR:
		return withCBOR
	}
	return textTypes
}

// Parse is the media type of a name, if it is served.
func (r Rules) Parse(name string) (wire.MediaType, bool) {
	for _, mt := range r.supported() {
		if Name(mt) == name {
			return mt, true
		}
	}
	return 0, false
}

// MediaTypes are the names of what an endpoint serves, and takes; the order is
// that of error messages.
func (r Rules) MediaTypes() []string {
	var names []string
	for _, mt := range r.supported() {
		names = append(names, Name(mt))
	}
	return names
}

// StreamMediaTypes are the names of what watches serve.
func (r Rules) StreamMediaTypes() []string {
	names := []string{"application/json;stream=watch"}
	if r.Protobuf || r.ProtobufMetadata {
		names = append(names, "application/vnd.kubernetes.protobuf;stream=watch")
	}
	if r.CBOR {
		names = append(names, "application/cbor-seq")
	}
	return names
}

// NegotiateInput finds out how to read a body. The error is a 415 status. No
// Content-Type means JSON.
func NegotiateInput(r *http.Request, rules Rules) (wire.MediaType, error) {
	header := r.Header.Get("Content-Type")
	switch header {
	case "", "application/json":
		return wire.JSON, nil
	}
	name, _, err := mime.ParseMediaType(header)
	if err == nil {
		if mt, ok := rules.Parse(name); ok && (mt != wire.Protobuf || rules.Protobuf) {
			return mt, nil
		}
	}
	return 0, UnsupportedMediaType(rules.MediaTypes())
}

// NotAcceptable is the 406 status that lists what there is.
func NotAcceptable(accepted []string) error {
	return failure(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		fmt.Sprintf("only the following media types are accepted: %v", strings.Join(accepted, ", ")))
}

// NotConvertible is the 406 status for a shape that the object does not have.
func NotConvertible(message string) error {
	return failure(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, message)
}

// UnsupportedMediaType is the 415 status that lists what bodies may be.
func UnsupportedMediaType(accepted []string) error {
	return failure(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: %v",
			strings.Join(accepted, ", ")))
}

func failure(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}
