package authorizer

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"triplane/generic/base/user"
)

// Attributes is what is decided about.
type Attributes struct {
	User            *user.Info
	Verb            string
	Namespace       string
	APIGroup        string
	APIVersion      string
	Resource        string
	Subresource     string
	Name            string
	ResourceRequest bool
	Path            string
	FieldSelector   fields.Requirements
	LabelSelector   labels.Requirements
}

// IsReadOnly reports whether the request changes nothing.
func (a *Attributes) IsReadOnly() bool {
	return a.Verb == "get" || a.Verb == "list" || a.Verb == "watch"
}

// Decision is an authorizer's answer.
type Decision int

// The decisions. NoOpinion leaves the answer to the next authorizer.
const (
	NoOpinion Decision = iota
	Allow
	Deny
)

// Authorizer decides. The reason is for the log and, on refusal, the client.
type Authorizer interface {
	Authorize(ctx context.Context, a *Attributes) (Decision, string, error)
}

// Rule is a row of what a user may do in a namespace (SelfSubjectRulesReview).
type Rule struct {
	Verbs, APIGroups, Resources, ResourceNames, NonResourceURLs []string
}

// RuleResolver lists what a user may do; incomplete is true where the rules do
// not cover everything.
type RuleResolver interface {
	RulesFor(ctx context.Context, u *user.Info, namespace string) (resource, nonResource []Rule, incomplete bool, err error)
}
