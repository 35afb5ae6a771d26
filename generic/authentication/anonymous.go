package authentication

import (
	"net/http"

	"triplane/generic/authentication/user"
)

// Anonymous accepts everybody as system:anonymous. With paths, only requests
// for exactly those.
func Anonymous(paths ...string) Request {
	response := &Response{User: &user.Info{
		Name:   user.Anonymous,
		Groups: []string{user.AllUnauthenticated},
	}}
	return RequestFunc(func(r *http.Request) (*Response, error) {
		if len(paths) == 0 {
			return response, nil
		}
		for _, p := range paths {
			if r.URL.Path == p {
				return response, nil
			}
		}
		return nil, nil
	})
}
