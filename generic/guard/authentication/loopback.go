package authentication

import (
	"context"
	"net/http"

	"triplane.dev/generic/base/user"
)

// WithLoopback marks a request as the server's own. Only the loopback transport calls it, which passes requests
// to the handler chain without a socket. Requests from the network cannot have this mark.
func WithLoopback(ctx context.Context) context.Context {
	return context.WithValue(ctx, loopbackKey, true)
}

// IsLoopback reports whether a request is the server's own.
func IsLoopback(ctx context.Context) bool {
	own, _ := ctx.Value(loopbackKey).(bool)
	return own
}

// Loopback authenticates the server's own requests as system:apiserver, which is in system:masters.
func Loopback(uid string) Request {
	response := &Response{User: &user.Info{
		Name:   user.APIServerUser,
		UID:    uid,
		Groups: []string{user.AllAuthenticated, user.SystemPrivileged},
	}}
	return RequestFunc(func(r *http.Request) (*Response, error) {
		if IsLoopback(r.Context()) {
			return response, nil
		}
		return nil, nil
	})
}
