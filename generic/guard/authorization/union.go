package authorization

import (
	"context"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

type union []authorizer.Authorizer

// Union returns an authorizer that tries authorizers in order until one allows or denies. Without a decision it
// joins their reasons, one per line.
func Union(authorizers ...authorizer.Authorizer) authorizer.Authorizer {
	if len(authorizers) == 1 {
		return authorizers[0]
	}
	return union(authorizers)
}

// Authorize implements authorizer.Authorizer.
func (u union) Authorize(ctx context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	var reasons []string
	var errs []error
	for _, each := range u {
		decision, reason, err := each.Authorize(ctx, a)
		if decision != authorizer.NoOpinion {
			return decision, reason, err
		}
		if err != nil {
			errs = append(errs, err)
		}
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return authorizer.NoOpinion, strings.Join(reasons, "\n"), utilerrors.NewAggregate(errs)
}

type named struct {
	name string
	authorizer.Authorizer
}

// Named puts the name of an authorizer before its reasons for having no opinion, so that
// those of several can be told apart.
func Named(name string, a authorizer.Authorizer) authorizer.Authorizer { return named{name, a} }

// Authorize implements authorizer.Authorizer.
func (n named) Authorize(ctx context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	decision, reason, err := n.Authorizer.Authorize(ctx, a)
	if decision == authorizer.NoOpinion && reason != "" {
		reason = n.name + ": " + reason
	}
	return decision, reason, err
}

type ruleUnion []authorizer.RuleResolver

// RuleUnion returns a resolver of the rules of all resolvers in order.
func RuleUnion(resolvers ...authorizer.RuleResolver) authorizer.RuleResolver {
	return ruleUnion(resolvers)
}

// RulesFor implements authorizer.RuleResolver.
func (u ruleUnion) RulesFor(ctx context.Context, who *user.Info, namespace string) (resource,
	nonResource []authorizer.Rule, incomplete bool, err error) {
	var errs []error
	for _, each := range u {
		r, n, i, err := each.RulesFor(ctx, who, namespace)
		resource = append(resource, r...)
		nonResource = append(nonResource, n...)
		incomplete = incomplete || i
		if err != nil {
			errs = append(errs, err)
		}
	}
	return resource, nonResource, incomplete, utilerrors.NewAggregate(errs)
}
