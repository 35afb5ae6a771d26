package handlers

import (
	"net/url"

	"k8s.io/apimachinery/pkg/runtime"
)

// OptionsDecoder fills the options object of a subresource (PodLogOptions) from
// a query.
type OptionsDecoder interface {
	DecodeParameters(query url.Values, into runtime.Object) error
}
