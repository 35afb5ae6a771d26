package authorization

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
)

// Forbidden returns the 403 status for a request. reason may be empty. Long names are shortened.
func Forbidden(a *authorizer.Attributes, reason string) *apierrors.StatusError {
	message := forbiddenMessage(a)
	if reason != "" {
		message += ": " + reason
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: request.Shortened(a.APIGroup),
		Resource: request.Shortened(a.Resource)}, request.Shortened(a.Name), errors.New(message))
}

func forbiddenMessage(a *authorizer.Attributes) string {
	name := ""
	if a.User != nil {
		name = a.User.Name
	}
	if !a.ResourceRequest {
		return fmt.Sprintf("User %q cannot %s path %q", name, a.Verb, request.Shortened(a.Path))
	}
	resource, namespace := a.Resource, request.Shortened(a.Namespace)
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	resource = request.Shortened(resource)
	if a.Namespace != "" {
		return fmt.Sprintf("User %q cannot %s resource %q in API group %q in the namespace %q", name, a.Verb, resource,
			request.Shortened(a.APIGroup), namespace)
	}
	return fmt.Sprintf("User %q cannot %s resource %q in API group %q at the cluster scope", name, a.Verb, resource,
		request.Shortened(a.APIGroup))
}
