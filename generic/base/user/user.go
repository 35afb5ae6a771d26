package user

import authenticationv1 "k8s.io/api/authentication/v1"

// Info describes an authenticated user.
type Info struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// Well-known names and groups.
const (
	Anonymous           = "system:anonymous"
	APIServerUser       = "system:apiserver"
	SystemPrivileged    = "system:masters"
	AllAuthenticated    = "system:authenticated"
	AllUnauthenticated  = "system:unauthenticated"
	NodesGroup          = "system:nodes"
	AllServiceAccounts  = "system:serviceaccounts"
	ServiceAccountUser  = "system:serviceaccount:"  // NAMESPACE:NAME follows
	ServiceAccountGroup = "system:serviceaccounts:" // NAMESPACE follows
	CredentialIDKey     = "authentication.kubernetes.io/credential-id"
	NodeNameKey         = "authentication.kubernetes.io/node-name" // node of a service account's pod
)

// UserInfo returns the user as the API represents it.
func (i *Info) UserInfo() authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: i.Name, UID: i.UID, Groups: i.Groups}
	for key, values := range i.Extra {
		if info.Extra == nil {
			info.Extra = make(map[string]authenticationv1.ExtraValue, len(i.Extra))
		}
		info.Extra[key] = values
	}
	return info
}

// InGroup reports whether the user is a member of a group.
func (i *Info) InGroup(group string) bool {
	for _, g := range i.Groups {
		if g == group {
			return true
		}
	}
	return false
}
