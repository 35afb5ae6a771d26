package app

import (
	"net/url"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"triplane/aggregator"
)

// laterResolver lets servers that are made before the aggregator find Services
// as it does.
type laterResolver struct {
	aggregator atomic.Pointer[aggregator.Server]
}

func (r *laterResolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	s := r.aggregator.Load()
	if s == nil {
		return nil, apierrors.NewServiceUnavailable("services cannot be found yet")
	}
	return s.ServiceResolver().ResolveEndpoint(namespace, name, port)
}
