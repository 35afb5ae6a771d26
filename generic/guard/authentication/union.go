package authentication

import (
	"context"
	"net/http"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"triplane.dev/generic/base/user"
)

type unionRequest struct {
	all       []Request
	failFirst bool
}

// Union tries authenticators in order until one accepts the request. It returns their errors only if none
// accepts.
func Union(all ...Request) Request { return unionRequest{all: all} }

// UnionFailFirst tries authenticators in order until one accepts the request or returns an error.
func UnionFailFirst(all ...Request) Request { return unionRequest{all: all, failFirst: true} }

// AuthenticateRequest implements Request.
func (u unionRequest) AuthenticateRequest(r *http.Request) (*Response, error) {
	var errs []error
	for _, each := range u.all {
		response, err := each.AuthenticateRequest(r)
		if response != nil {
			return response, nil
		}
		if err != nil {
			if u.failFirst {
				return nil, err
			}
			errs = append(errs, err)
		}
	}
	return nil, utilerrors.NewAggregate(errs)
}

type unionToken []Token

// UnionToken tries token authenticators in order until one accepts the token.
func UnionToken(all ...Token) Token { return unionToken(all) }

// AuthenticateToken implements Token.
func (u unionToken) AuthenticateToken(ctx context.Context, token string) (*Response, error) {
	var errs []error
	for _, each := range u {
		response, err := each.AuthenticateToken(ctx, token)
		if response != nil {
			return response, nil
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return nil, utilerrors.NewAggregate(errs)
}

// AuthenticatedGroup adds the group system:authenticated to users, except anonymous ones.
func AuthenticatedGroup(inner Request) Request {
	g := newGroupAdder()
	return RequestFunc(func(r *http.Request) (*Response, error) {
		response, err := inner.AuthenticateRequest(r)
		if response == nil || err != nil {
			return nil, err
		}
		return g.add(response), nil
	})
}

// AuthenticatedTokenGroup is AuthenticatedGroup for tokens.
func AuthenticatedTokenGroup(inner Token) Token {
	g := newGroupAdder()
	return TokenFunc(func(ctx context.Context, token string) (*Response, error) {
		response, err := inner.AuthenticateToken(ctx, token)
		if response == nil || err != nil {
			return nil, err
		}
		return g.add(response), nil
	})
}

// groupAdder caches users with the added group, by the pointer of the original user. Authenticators return the
// same immutable user for the same credential. As a key of the map the pointer is not reused.
type groupAdder struct {
	known recent[*user.Info, *user.Info]
}

func newGroupAdder() *groupAdder {
	return &groupAdder{known: recent[*user.Info, *user.Info]{limit: 1024}}
}

func (g *groupAdder) add(response *Response) *Response {
	u, ok := g.known.get(response.User)
	if !ok {
		u = authenticatedUser(response.User)
		g.known.put(response.User, u)
	}
	if u == response.User {
		return response
	}
	return &Response{User: u, Audiences: response.Audiences, Annotations: response.Annotations}
}

func withAuthenticated(response *Response) *Response {
	return &Response{User: authenticatedUser(response.User), Audiences: response.Audiences,
		Annotations: response.Annotations}
}

// authenticatedUser returns u if it has the group or is anonymous, and a copy with the group otherwise.
func authenticatedUser(u *user.Info) *user.Info {
	if u.Name == user.Anonymous || u.InGroup(user.AllAuthenticated) || u.InGroup(user.AllUnauthenticated) {
		return u
	}
	groups := make([]string, 0, len(u.Groups)+1)
	groups = append(append(groups, u.Groups...), user.AllAuthenticated)
	return &user.Info{Name: u.Name, UID: u.UID, Groups: groups, Extra: u.Extra}
}
