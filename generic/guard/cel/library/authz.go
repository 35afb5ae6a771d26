package library

import (
	"context"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

// Types of the values of the authorizer library, from the authorizer to its decision.
var (
	AuthorizerType    = types.NewOpaqueType("kubernetes.authorization.Authorizer")
	ResourceCheckType = types.NewOpaqueType("kubernetes.authorization.ResourceCheck")
	pathCheckType     = types.NewOpaqueType("kubernetes.authorization.PathCheck")
	groupCheckType    = types.NewOpaqueType("kubernetes.authorization.GroupCheck")
	decisionType      = types.NewOpaqueType("kubernetes.authorization.Decision")
)

// subject is a user whose permissions an expression checks.
type subject struct {
	ctx   context.Context //nolint:containedctx // ends with the evaluation
	authz authorizer.Authorizer
	user  *user.Info
}

// check is a permission check without its verb.
type check struct {
	subject
	attrs         authorizer.Attributes
	fieldSelector error
	labelSelector error
}

type decision struct {
	decision authorizer.Decision
	reason   string
	err      error
}

// NewAuthorizer returns a value of AuthorizerType for the user. ctx limits its calls of the authorizer.
func NewAuthorizer(ctx context.Context, authz authorizer.Authorizer, u *user.Info) ref.Val {
	return step(AuthorizerType, subject{ctx, authz, u})
}

// NewResourceCheck returns a value of ResourceCheckType for the user and the resource in attrs.
func NewResourceCheck(ctx context.Context, authz authorizer.Authorizer, u *user.Info,
	attrs authorizer.Attributes) ref.Val {
	attrs.ResourceRequest = true
	return step(ResourceCheckType, check{subject: subject{ctx, authz, u}, attrs: attrs})
}

func step[T any](t *types.Type, v T) ref.Val {
	return opaque[T]{t, v, func(T, T) bool { return false }}
}

// Authorizer returns the functions that call the server's authorizer.
func Authorizer() cel.EnvOption {
	return func(e *cel.Env) (*cel.Env, error) {
		var err error
		for _, o := range authz() {
			if e, err = o(e); err != nil {
				return nil, err
			}
		}
		return e, nil
	}
}

func authz() []cel.EnvOption {
	// refine sets one attribute of a resource check.
	refine := func(name string, set func(c *check, v string)) cel.EnvOption {
		return member(name, "resourcecheck_"+name, ts{ResourceCheckType, str}, ResourceCheckType, func(a ...ref.Val) ref.Val {
			c := a[0].(opaque[check]).v
			set(&c, text(a[1]))
			return step(ResourceCheckType, c)
		})
	}
	return []cel.EnvOption{
		member("path", "authorizer_path", ts{AuthorizerType, str}, pathCheckType, func(a ...ref.Val) ref.Val {
			p := text(a[1])
			if p == "" {
				return types.NewErr("path must not be empty")
			}
			return step(pathCheckType, check{subject: a[0].(opaque[subject]).v, attrs: authorizer.Attributes{Path: p}})
		}),
		member("group", "authorizer_group", ts{AuthorizerType, str}, groupCheckType, func(a ...ref.Val) ref.Val {
			return step(groupCheckType, check{subject: a[0].(opaque[subject]).v,
				attrs: authorizer.Attributes{APIGroup: text(a[1])}})
		}),
		member("serviceAccount", "authorizer_serviceaccount", ts{AuthorizerType, str, str}, AuthorizerType, serviceAccount),
		member("resource", "groupcheck_resource", ts{groupCheckType, str}, ResourceCheckType, func(a ...ref.Val) ref.Val {
			c := a[0].(opaque[check]).v
			c.attrs.Resource, c.attrs.ResourceRequest = text(a[1]), true
			if c.attrs.Resource == "" {
				return types.NewErr("resource must not be empty")
			}
			return step(ResourceCheckType, c)
		}),
		refine("subresource", func(c *check, v string) { c.attrs.Subresource = v }),
		refine("namespace", func(c *check, v string) { c.attrs.Namespace = v }),
		refine("name", func(c *check, v string) { c.attrs.Name = v }),
		refine("fieldSelector", setFields), refine("labelSelector", setLabels),
		member("check", "pathcheck_check", ts{pathCheckType, str}, decisionType, runCheck),
		member("check", "resourcecheck_check", ts{ResourceCheckType, str}, decisionType, runCheck),
		decisionMember("allowed", types.BoolType,
			func(d decision) ref.Val { return types.Bool(d.decision == authorizer.Allow) }),
		decisionMember("reason", str, func(d decision) ref.Val { return types.String(d.reason) }),
		decisionMember("errored", types.BoolType, func(d decision) ref.Val { return types.Bool(d.err != nil) }),
		decisionMember("error", str, func(d decision) ref.Val {
			if d.err == nil {
				return types.String("")
			}
			return types.String(d.err.Error())
		}),
	}
}

func decisionMember(name string, result *types.Type, f func(decision) ref.Val) cel.EnvOption {
	return member(name, "decision_"+name, ts{decisionType}, result,
		func(a ...ref.Val) ref.Val { return f(a[0].(opaque[decision]).v) })
}

// serviceAccount returns an authorizer value for a service account.
func serviceAccount(a ...ref.Val) ref.Val {
	on := a[0].(opaque[subject]).v
	namespace, name := text(a[1]), text(a[2])
	if msgs := validation.ValidateServiceAccountName(name, false); len(msgs) > 0 {
		return types.NewErr("Invalid service account name")
	}
	if msgs := validation.ValidateNamespaceName(namespace, false); len(msgs) > 0 {
		return types.NewErr("Invalid service account namespace")
	}
	on.user = &user.Info{Name: user.ServiceAccountName(namespace, name), Groups: []string{
		user.AllServiceAccounts, user.ServiceAccountGroup + namespace, user.AllAuthenticated,
	}}
	return step(AuthorizerType, on)
}

func setFields(c *check, v string) {
	s, err := fields.ParseSelector(v)
	c.attrs.FieldSelector, c.fieldSelector = nil, err
	if err == nil {
		c.attrs.FieldSelector = s.Requirements()
	}
}

func setLabels(c *check, v string) {
	s, err := labels.Parse(v)
	c.attrs.LabelSelector, c.labelSelector = nil, err
	if err == nil {
		c.attrs.LabelSelector, _ = s.Requirements()
	}
}

// runCheck calls the authorizer with the verb and the attributes of a check.
func runCheck(a ...ref.Val) ref.Val {
	c := a[0].(opaque[check]).v
	attrs := c.attrs
	attrs.User, attrs.Verb, attrs.APIVersion = c.user, text(a[1]), "*"
	if !attrs.ResourceRequest {
		attrs.APIVersion = ""
	}
	if c.authz == nil {
		return step(decisionType, decision{decision: authorizer.Allow})
	}
	d, reason, err := c.authz.Authorize(c.ctx, &attrs)
	return step(decisionType, decision{d, reason, err})
}
