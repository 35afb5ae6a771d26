// Package authentication serves the group authentication.k8s.io/v1: TokenReview says
// whose a token is, SelfSubjectReview who is asking. Reviews are answers to a POST;
// nothing is stored.
package authentication
