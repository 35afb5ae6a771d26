// Package authentication finds out who makes a request.
package authentication

import (
	"context"
	"net/http"

	"triplane/generic/authentication/user"
)

// Response is a successful authentication.
type Response struct {
	User *user.Info
	// Audiences that the credential is good for, where it says.
	Audiences []string
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
