package authentication

import (
	"context"
	"net/http"
	"slices"

	"triplane/generic/base/user"
)

// Response is a successful authentication.
type Response struct {
	User *user.Info
	// Audiences that the credential is good for, where it says.
	Audiences []string
	// Annotations are for the audit events of the request; nil of most.
	Annotations map[string]string
}

// Request authenticates HTTP requests. It returns nil and no error where it has
// no opinion, an error where there is a credential that is wrong.
type Request interface {
	AuthenticateRequest(r *http.Request) (*Response, error)
}

// Token authenticates bearer tokens.
type Token interface {
	AuthenticateToken(ctx context.Context, token string) (*Response, error)
}

// RequestFunc is a function that authenticates requests.
type RequestFunc func(r *http.Request) (*Response, error)

// AuthenticateRequest implements Request.
func (f RequestFunc) AuthenticateRequest(r *http.Request) (*Response, error) { return f(r) }

// TokenFunc is a function that authenticates tokens.
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

// WithAudiences returns a context in which tokens have to be good for one of
// the audiences (TokenReview). Without it each authenticator uses the API
// server's own.
func WithAudiences(ctx context.Context, audiences []string) context.Context {
	return context.WithValue(ctx, audiencesKey, audiences)
}

// AudiencesFrom returns the audiences that WithAudiences set.
func AudiencesFrom(ctx context.Context) ([]string, bool) {
	a, ok := ctx.Value(audiencesKey).([]string)
	return a, ok
}

// ForAudiences has tokens that name no audience be good for the API server's
// own: where the context asks for others alone, nobody knows them.
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

// Intersect returns those of wanted that are among offered.
func Intersect(wanted, offered []string) []string {
	var both []string
	for _, w := range wanted {
		if slices.Contains(offered, w) {
			both = append(both, w)
		}
	}
	return both
}
