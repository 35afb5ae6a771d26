package authentication

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

// Group builds authentication.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, authenticationv1.GroupName, "v1")
	b.Resource("tokenreviews", &rest.Resource{
		New:    func() runtime.Object { return &authenticationv1.TokenReview{} },
		Create: tokenReviews{tokens: d.TokenAuthenticator, audiences: d.APIAudiences}.create,
	})
	b.Resource("selfsubjectreviews", &rest.Resource{
		New: func() runtime.Object { return &authenticationv1.SelfSubjectReview{} }, Create: reviewSelf,
	})
	return b.Info()
}
