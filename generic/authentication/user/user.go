package user

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
	ServiceAccountUser  = "system:serviceaccount:"  // + NAMESPACE:NAME
	ServiceAccountGroup = "system:serviceaccounts:" // + NAMESPACE
	CredentialIDKey     = "authentication.kubernetes.io/credential-id"
	NodeNameKey         = "authentication.kubernetes.io/node-name" // of the pod of a service account
)

// InGroup reports whether the user belongs to a group.
func (i *Info) InGroup(group string) bool {
	for _, g := range i.Groups {
		if g == group {
			return true
		}
	}
	return false
}
