// Package authorization serves the group authorization.k8s.io/v1, whose reviews say
// who may do what: SubjectAccessReview about any user, LocalSubjectAccessReview within
// one namespace, SelfSubjectAccessReview and SelfSubjectRulesReview about who is
// asking. Reviews are answers to a POST; nothing is stored.
package authorization
