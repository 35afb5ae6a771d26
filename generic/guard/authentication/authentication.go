package authentication

import (
	"context"
	"net/http"
	"slices"

	"triplane.dev/generic/base/user"
)

// Response is a successful authentication.
type Response struct {
	User *user.Info
	// Audiences are the audiences of the credential; nil if it has none.
	Audiences []string
	// Annotations are added to the audit events of the request.
	Annotations map[string]string
}

// Request authenticates HTTP requests. It returns (nil, nil) if the request has no credential of its type, and
// an error if the credential is invalid.
type Request interface {
	AuthenticateRequest(r *http.Request) (*Response, error)
}

// Token authenticates bearer tokens. It returns (nil, nil) for tokens of another type, and an error for invalid
// ones.
type Token interface {
	AuthenticateToken(ctx context.Context, token string) (*Response, error)
}

// RequestFunc is a function that implements Request.
type RequestFunc func(r *http.Request) (*Response, error)

// AuthenticateRequest implements Request.
func (f RequestFunc) AuthenticateRequest(r *http.Request) (*Response, error) { return f(r) }

// TokenFunc is a function that implements Token.
type TokenFunc func(ctx context.Context, token string) (*Response, error)

// AuthenticateToken implements Token.
func (f TokenFunc) AuthenticateToken(ctx context.Context, token string) (*Response, error) {
	return f(ctx, token)
}

type contextKey int

const (
	audiencesKey contextKey = iota
	loopbackKey
)

// WithAudiences returns a context that requires tokens to be valid for one of the audiences, for TokenReviews.
// Without it tokens must be valid for the API server's own audiences.
func WithAudiences(ctx context.Context, audiences []string) context.Context {
	return context.WithValue(ctx, audiencesKey, audiences)
}

// AudiencesFrom returns the audiences that WithAudiences set.
func AudiencesFrom(ctx context.Context) ([]string, bool) {
	a, ok := ctx.Value(audiencesKey).([]string)
	return a, ok
}

// ForAudiences treats tokens without an audience as valid for own, the API server's audiences. If the context
// requires only other audiences, it has no opinion on these tokens.
func ForAudiences(own []string, tokens Token) Token {
	return TokenFunc(func(ctx context.Context, token string) (*Response, error) {
		wanted, ok := AudiencesFrom(ctx)
		if !ok {
			return tokens.AuthenticateToken(ctx, token)
		}
		audiences := Intersect(own, wanted)
		if len(audiences) == 0 {
			return nil, nil
		}
		response, err := tokens.AuthenticateToken(ctx, token)
		if response == nil || err != nil {
			return nil, err
		}
		return &Response{User: response.User, Audiences: audiences, Annotations: response.Annotations}, nil
	})
}

// InsteadOf returns token authenticators of a server as those of another one: its own audiences take the place of those
// of the server in the request and in the response.
func InsteadOf(server, own []string, all []Token) []Token {
	var others []Token
	for _, tokens := range all {
		others = append(others, TokenFunc(func(ctx context.Context, token string) (*Response, error) {
			wanted, _ := AudiencesFrom(ctx)
			audiences := Intersect(own, wanted)
			if len(audiences) == 0 {
				return tokens.AuthenticateToken(ctx, token)
			}
			response, err := tokens.AuthenticateToken(WithAudiences(ctx, server), token)
			if response == nil || err != nil {
				return nil, err
			}
			return &Response{User: response.User, Audiences: audiences, Annotations: response.Annotations}, nil
		}))
	}
	return others
}

// Intersect returns the elements of wanted that are in offered.
func Intersect(wanted, offered []string) []string {
	var both []string
	for _, w := range wanted {
		if slices.Contains(offered, w) {
			both = append(both, w)
		}
	}
	return both
}
