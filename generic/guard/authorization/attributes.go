package authorization

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
)

// AttributesOf sets a to the attributes of a request. Selectors that do not parse are omitted: authorizers then
// decide as for a request without selectors.
func AttributesOf(info *request.Info, u *user.Info, a *authorizer.Attributes) {
	*a = authorizer.Attributes{
		User:            u,
		Verb:            info.Verb,
		Namespace:       info.Namespace,
		APIGroup:        info.APIGroup,
		APIVersion:      info.APIVersion,
		Resource:        info.Resource,
		Subresource:     info.Subresource,
		Name:            info.Name,
		ResourceRequest: info.IsResourceRequest,
		Path:            info.Path,
	}
	if info.FieldSelector != "" {
		if s, err := fields.ParseSelector(info.FieldSelector); err == nil {
			a.FieldSelector = s.Requirements()
		}
	}
	if info.LabelSelector != "" {
		if s, err := labels.Parse(info.LabelSelector); err == nil {
			if reqs, selectable := s.Requirements(); selectable {
				a.LabelSelector = reqs
			}
		}
	}
}
