package workspaces

import (
	"context"
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/run/authoptions"
)

// Authentication authenticates requests of the root with root, and those of a workspace with its own authenticator.
// nested returns the authenticator of a workspace from what its tokens refer to; it is called for each request to a
// workspace that is asleep, or that does not exist.
func (m *Manager) Authentication(root authentication.Request,
	nested func(name string, lookups authoptions.Lookups) authentication.Request) authentication.Request {
	return authentication.RequestFunc(func(r *http.Request) (*authentication.Response, error) {
		name := request.WorkspaceFrom(r.Context())
		if name == "" || name == All {
			return root.AuthenticateRequest(r)
		}
		var own authentication.Request
		if i := m.awake(name); i != nil {
			own = i.chain.Authentication
		} else {
			own = nested(name, sleeping{m, name})
		}
		response, err := own.AuthenticateRequest(r)
		if response == nil || err != nil {
			return nil, err
		}
		// The authenticators have checked the audiences, which are not those of the root.
		return &authentication.Response{User: response.User, Annotations: response.Annotations}, nil
	})
}

// sleeping wakes a workspace to read what a token refers to, after the signature of the token was verified.
type sleeping struct {
	manager *Manager
	name    string
}

var _ authoptions.Lookups = sleeping{}

// fromSleeping calls f with the lookups of the awake workspace.
func fromSleeping[T any](ctx context.Context, s sleeping, f func(authoptions.Lookups) (T, error)) (none T, err error) {
	e, ok := s.manager.find(ctx, s.name)
	switch {
	case !ok:
		return none, errNotFound
	case e.suspended:
		return none, errSuspended
	}
	i, err := s.manager.acquire(ctx, s.name)
	if err != nil {
		return none, err
	}
	defer s.manager.leave(i)
	return f(i.chain.Lookups)
}

// GetServiceAccount implements serviceaccount.Getter.
func (s sleeping) GetServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount,
	error) {
	return fromSleeping(ctx, s, func(l authoptions.Lookups) (*corev1.ServiceAccount, error) {
		return l.GetServiceAccount(ctx, namespace, name)
	})
}

// GetPod implements serviceaccount.Getter.
func (s sleeping) GetPod(ctx context.Context, namespace, name string) (*corev1.Pod,
	error) {
	return fromSleeping(ctx, s, func(l authoptions.Lookups) (*corev1.Pod, error) { return l.GetPod(ctx, namespace, name) })
}

// GetSecret implements serviceaccount.Getter.
func (s sleeping) GetSecret(ctx context.Context, namespace, name string) (*corev1.Secret,
	error) {
	return fromSleeping(ctx, s, func(l authoptions.Lookups) (*corev1.Secret, error) {
		return l.GetSecret(ctx, namespace, name)
	})
}

// GetNode implements serviceaccount.Getter.
func (s sleeping) GetNode(ctx context.Context, name string) (*corev1.Node,
	error) {
	return fromSleeping(ctx, s, func(l authoptions.Lookups) (*corev1.Node, error) { return l.GetNode(ctx, name) })
}

// RecordTokenUse implements authoptions.Lookups.
func (s sleeping) RecordTokenUse(ctx context.Context, namespace, name, day string) error {
	_, err := fromSleeping(ctx, s, func(l authoptions.Lookups) (any, error) {
		return nil, l.RecordTokenUse(ctx, namespace, name, day)
	})
	return err
}

// Authorization decides on requests of the root with root, and on those of a workspace with its own authorizer.
func (m *Manager) Authorization(root authorizer.Authorizer) authorizer.Authorizer {
	m.rootAuthorizer = root
	return dispatchingAuthorizer{m}
}

type dispatchingAuthorizer struct {
	manager *Manager
}

// Authorize implements authorizer.Authorizer.
func (d dispatchingAuthorizer) Authorize(ctx context.Context, a *authorizer.Attributes) (authorizer.Decision, string,
	error) {
	switch name := request.WorkspaceFrom(ctx); name {
	case "":
		return d.manager.rootAuthorizer.Authorize(ctx, a)
	case All:
		return d.manager.rootAuthorizer.Authorize(ctx, contentsOf(a))
	default:
		return d.manager.authorize(ctx, name, a)
	}
}

// contentsOf returns the attributes that the root authorizes for a request in all workspaces: the verb on the
// subresource "content" of Workspaces.
func contentsOf(a *authorizer.Attributes) *authorizer.Attributes {
	return &authorizer.Attributes{User: a.User, Verb: a.Verb, ResourceRequest: true, APIGroup: GroupVersion.Group,
		APIVersion: GroupVersion.Version, Resource: Plural, Subresource: "content", Path: a.Path}
}

// authorize decides on a request in a workspace. Without permission the decision is the same whether the workspace
// exists or not, and what it reveals is nothing.
func (m *Manager) authorize(ctx context.Context, name string, a *authorizer.Attributes) (authorizer.Decision, string,
	error) {
	if i := markedWith(ctx); i != nil {
		chain, err := i.awaitCreated(ctx)
		if err != nil {
			return authorizer.NoOpinion, "", err
		}
		return chain.Authorizer.Authorize(ctx, a)
	}
	e, exists := m.find(ctx, name)
	if isAdministrator(ctx, a.User) {
		if exists && e.suspended && !a.IsReadOnly() {
			return authorizer.Deny, "the workspace is suspended", nil
		}
		return authorizer.Allow, "", nil
	}
	if !exists || e.deleting || e.suspended {
		return authorizer.NoOpinion, "", nil
	}
	if e.isAdmin(a.User) {
		return authorizer.Allow, "an administrator of the workspace", nil
	}
	if a.User.Name == user.Anonymous && m.awake(name) == nil {
		return authorizer.NoOpinion, "", nil
	}
	i, err := m.acquire(ctx, name)
	if errors.Is(err, errNotFound) {
		return authorizer.NoOpinion, "", nil
	}
	if err != nil {
		return authorizer.NoOpinion, "", err
	}
	defer m.leave(i)
	if admitted, err := i.chain.Admits(ctx, a.User); !admitted || err != nil {
		return authorizer.NoOpinion, "", err
	}
	return i.chain.Authorizer.Authorize(ctx, a)
}

// isAdministrator reports whether a request is one of the root's administrators. Impersonated users are
// not, whatever their groups.
func isAdministrator(ctx context.Context, u *user.Info) bool {
	s := request.StateFrom(ctx)
	return s != nil && !s.Impersonated && u.InGroup(user.SystemPrivileged)
}
