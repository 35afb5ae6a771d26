package filters

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/guard/authorization"
	"triplane.dev/generic/serve/requestmetrics"
)

const (
	impersonateUser        = "Impersonate-User"
	impersonateGroup       = "Impersonate-Group"
	impersonateUID         = "Impersonate-Uid"
	impersonateExtraPrefix = "Impersonate-Extra-"
)

// withImpersonation replaces the request's user by the impersonated user, if the authorizer allows it (see
// impersonationModes and KEP-5284). It responds 403 if impersonation is denied, and 400 if the headers name no
// user.
//
// Options: the authorizers of generic/run/authoptions.Authorization. Metrics: apiserver_impersonation_*. Order: after
// authentication; before all filters that depend on the effective user.
func withImpersonation(o AuthorizationOptions, m *requestmetrics.Metrics) filter {
	authz := o.Authorization
	if authz == nil {
		authz = authorization.AlwaysAllow{}
	}
	modes := newImpersonationModes(authz, o.PlainImpersonation, m)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			wanted := wantedUser(r.Header)
			if wanted == nil {
				next.ServeHTTP(w, r)
				return
			}
			if wanted.Name == "" {
				w.Header().Set("X-Content-Type-Options", "nosniff")
				responsewriters.WriteError(w, r, apierrors.NewBadRequest(fmt.Sprintf(
					"requested &user.DefaultInfo{Name:%q, UID:%q, Groups:%#v, Extra:%#v} without impersonating a "+
						"user name", wanted.Name, wanted.UID, wanted.Groups, wanted.Extra)))
				return
			}
			e := exchangeOf(r)
			constraint, refusal := modes.check(e, wanted)
			if refusal != nil {
				w.Header().Set("X-Content-Type-Options", "nosniff")
				responsewriters.WriteError(w, r, refusal)
				return
			}
			e.User, e.Impersonated = completeUser(wanted, constraint), true
			audit.RecordOf(&e.State).Impersonates(e.User, constraint)
			dropImpersonation(r.Header)
			next.ServeHTTP(w, r)
		})
	}
}

// wantedUser returns the user that the headers name; nil if they request no impersonation.
func wantedUser(h http.Header) *user.Info {
	var extra map[string][]string
	for name, values := range h {
		key, is := strings.CutPrefix(name, impersonateExtraPrefix)
		if !is {
			continue
		}
		if extra == nil {
			extra = map[string][]string{}
		}
		key = strings.ToLower(key)
		if plain, err := url.PathUnescape(key); err == nil {
			key = plain
		}
		extra[key] = append(extra[key], values...)
	}
	name, uid, groups := h.Get(impersonateUser), h.Get(impersonateUID), h[impersonateGroup]
	if name == "" && uid == "" && len(groups) == 0 && extra == nil {
		return nil
	}
	return &user.Info{Name: name, UID: uid, Groups: groups, Extra: extra}
}

// completeUser adds the groups that authentication would have added to the user. constraint is the verb that
// allowed the impersonation. The constrained modes for nodes accept no requested groups, so completeUser adds the
// group of nodes.
func completeUser(wanted *user.Info, constraint string) *user.Info {
	u := *wanted
	u.Groups = append(make([]string, 0, len(wanted.Groups)+3), wanted.Groups...)
	if namespace, _, ok := user.ServiceAccount(u.Name); ok && len(u.Groups) == 0 {
		u.Groups = append(u.Groups, user.AllServiceAccounts, user.ServiceAccountGroup+namespace)
	}
	if constraint == constraintOf(associatedNode) || constraint == constraintOf(arbitraryNode) {
		u.Groups = append(u.Groups, user.NodesGroup)
	}
	switch {
	case u.InGroup(user.AllUnauthenticated):
	case u.Name == user.Anonymous:
		u.Groups = append(u.Groups, user.AllUnauthenticated)
	case !u.InGroup(user.AllAuthenticated):
		u.Groups = append(u.Groups, user.AllAuthenticated)
	}
	return &u
}

func dropImpersonation(h http.Header) {
	delete(h, impersonateUser)
	delete(h, impersonateGroup)
	delete(h, impersonateUID)
	for name := range h {
		if strings.HasPrefix(name, impersonateExtraPrefix) {
			delete(h, name)
		}
	}
}
