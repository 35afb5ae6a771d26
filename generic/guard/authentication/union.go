package authentication

import (
	"context"
	"net/http"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"triplane/generic/base/user"
)

type unionRequest struct {
	all       []Request
	failFirst bool
}

// Union asks authenticators in order until one accepts. What refused is
// reported only where none accepts.
func Union(all ...Request) Request { return unionRequest{all: all} }

// UnionFailFirst asks authenticators in order until one accepts or refuses.
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

// UnionToken asks token authenticators in order until one accepts.
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

// AuthenticatedGroup adds system:authenticated to whom inner accepts, unless
// they are known to be nobody.
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

// AuthenticatedTokenGroup does the same for tokens.
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

// groupAdder remembers what it made of a user: authenticators mostly return the
// same one for the same credential. Users are never changed, so that the
// pointer identifies them, and being a key keeps it from being used again.
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
	return &Response{User: authenticatedUser(response.User), Audiences: response.Audiences, Annotations: response.Annotations}
}

// authenticatedUser returns u itself where there is nothing to add.
func authenticatedUser(u *user.Info) *user.Info {
	if u.Name == user.Anonymous || u.InGroup(user.AllAuthenticated) || u.InGroup(user.AllUnauthenticated) {
		return u
	}
	groups := make([]string, 0, len(u.Groups)+1)
	groups = append(append(groups, u.Groups...), user.AllAuthenticated)
	return &user.Info{Name: u.Name, UID: u.UID, Groups: groups, Extra: u.Extra}
}
