package authentication

import (
	authenticationv1 "k8s.io/api/authentication/v1"

	"triplane/generic/serve/server"
	"triplane/kubeapi/group"
)

// Group builds authentication.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, authenticationv1.GroupName, "v1")
	b.Resource("tokenreviews", tokenReviews{tokens: d.TokenAuthenticator, audiences: d.APIAudiences})
	b.Resource("selfsubjectreviews", selfSubjectReviews{})
	return b.Info()
}
