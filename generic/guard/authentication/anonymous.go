package authentication

import (
	"net/http"
	"slices"

	"triplane.dev/generic/base/user"
)

// Anonymous authenticates requests without credentials as system:anonymous. If paths are given, it only does so
// for exactly these paths.
func Anonymous(paths ...string) Request {
	response := &Response{User: &user.Info{
		Name:   user.Anonymous,
		Groups: []string{user.AllUnauthenticated},
	}}
	return RequestFunc(func(r *http.Request) (*Response, error) {
		if len(paths) > 0 && !slices.Contains(paths, r.URL.Path) {
			return nil, nil
		}
		if audiences, ok := AudiencesFrom(r.Context()); ok {
			return &Response{User: response.User, Audiences: audiences}, nil
		}
		return response, nil
	})
}
