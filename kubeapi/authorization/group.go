package authorization

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

// Group builds authorization.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, authorizationv1.GroupName, "v1")
	a := answerer{d.Authorizer}
	b.Resource("subjectaccessreviews", &rest.Resource{
		New: func() runtime.Object { return &authorizationv1.SubjectAccessReview{} }, Create: a.review,
	})
	b.Resource("selfsubjectaccessreviews", &rest.Resource{
		New: func() runtime.Object { return &authorizationv1.SelfSubjectAccessReview{} }, Create: a.reviewSelf,
	})
	b.Resource("localsubjectaccessreviews", &rest.Resource{
		New: func() runtime.Object { return &authorizationv1.LocalSubjectAccessReview{} }, Create: a.reviewLocal,
		Namespaced: true,
	})
	b.Resource("selfsubjectrulesreviews", &rest.Resource{
		New: func() runtime.Object { return &authorizationv1.SelfSubjectRulesReview{} }, Create: rules{d.RuleResolver}.review,
	})
	return b.Info()
}
