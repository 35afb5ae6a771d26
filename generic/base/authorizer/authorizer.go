package authorizer

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"triplane.dev/generic/base/user"
)

// Attributes describe the request to authorize.
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

// IsReadOnly reports whether the verb is get, list or watch.
func (a *Attributes) IsReadOnly() bool {
	return a.Verb == "get" || a.Verb == "list" || a.Verb == "watch"
}

// Decision is the result of an authorizer.
type Decision int

// The decisions. After NoOpinion the next authorizer decides.
const (
	NoOpinion Decision = iota
	Allow
	Deny
)

// Authorizer authorizes requests. The reason is for the log and, if the request is denied, for the client.
type Authorizer interface {
	Authorize(ctx context.Context, a *Attributes) (Decision, string, error)
}

// Rule is one rule of a user in a namespace (SelfSubjectRulesReview).
type Rule struct {
	Verbs, APIGroups, Resources, ResourceNames, NonResourceURLs []string
}

// RuleResolver lists the rules of a user. incomplete is true if the user may have other rules.
type RuleResolver interface {
	RulesFor(ctx context.Context, u *user.Info, namespace string) (resource, nonResource []Rule, incomplete bool,
		err error)
}
