package apiextensions

import (
	"errors"
	"net/url"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"triplane/apiextensions/conversion"
)

var errNoInfo = errors.New("no request info in the context")

// converterFactory makes converters as CRDs ask for them.
type converterFactory struct{ resolver ServiceResolver }

func (f *converterFactory) of(crd *apiextensionsv1.CustomResourceDefinition) (conversion.Converter, error) {
	return conversion.None{}, nil
}

// ServiceResolver finds the URL at which a service's port can be reached.
type ServiceResolver interface {
	ResolveEndpoint(namespace, name string, port int32) (*url.URL, error)
}
