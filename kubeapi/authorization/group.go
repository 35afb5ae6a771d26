package authorization

import (
	authorizationv1 "k8s.io/api/authorization/v1"

	"triplane/generic/serve/server"
	"triplane/kubeapi/group"
)

// Group builds authorization.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, authorizationv1.GroupName, "v1")
	a := answerer{d.Authorizer}
	b.Resource("subjectaccessreviews", accessReviews{answerer: a})
	b.Resource("selfsubjectaccessreviews", selfAccessReviews{answerer: a})
	b.Resource("localsubjectaccessreviews", localAccessReviews{answerer: a})
	b.Resource("selfsubjectrulesreviews", rulesReviews{rules: d.RuleResolver})
	return b.Info()
}

// clusterReview and namespacedReview are what all reviews have in common.
type clusterReview struct{}

func (clusterReview) NamespaceScoped() bool { return false }
func (clusterReview) ShortNames() []string  { return nil }
func (clusterReview) Categories() []string  { return nil }

type namespacedReview struct{ clusterReview }

func (namespacedReview) NamespaceScoped() bool { return true }
