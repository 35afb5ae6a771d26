package attacks

import (
	"net/http"
	"testing"
)

// impostor may act as any user, in any group, with any extra, to read pods, and as
// the service account "ok"; the group of administrators may read pods, too.
const impostor = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: impostor}
rules:
- {apiGroups: [authentication.k8s.io], resources: [users, groups, uids, "userextras/*"], verbs: ["impersonate:user-info"]}
- {apiGroups: [authentication.k8s.io], resources: [serviceaccounts], resourceNames: [ok], verbs: ["impersonate:serviceaccount"]}
- {apiGroups: [""], resources: [pods], verbs: ["impersonate-on:user-info:list", "impersonate-on:serviceaccount:list"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: impostor}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: impostor}
subjects: [{kind: ServiceAccount, namespace: default, name: impostor}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: readers-of-pods}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:aggregate-to-view"}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:node:evil"}
- {kind: ServiceAccount, namespace: default, name: ok}
- {kind: ServiceAccount, namespace: default, name: other}
`

// Constrained permissions to act as others are stretched: to administrators, to other
// service accounts, to what may not be done. The attacker, whose permission is to list
// pods as others do, would be an administrator.
func constrainedImpersonation(_ *testing.T, s *target) {
	s.apply(impostor)
	token := s.token("impostor")
	ask := func(method, path, as, headers string) int {
		code, _, err := s.ask(method+" "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "+token+"\r\nImpersonate-User: "+as+"\r\n"+headers+"\r\n", generous)
		if err != nil {
			s.t.Fatal(err)
		}
		return code
	}
	const account = "system:serviceaccount:default:"
	for _, user := range []string{"reader", account + "ok"} {
		s.eventually("the permission is in force for "+user, generous,
			func() bool { return ask("GET", pods, user, "") == http.StatusOK })
	}
	for _, c := range []struct{ what, method, path, as, headers string }{
		{"administrators", "GET", pods, "reader", "Impersonate-Group: system:masters\r\n"},
		{"administrators behind others", "GET", pods, "reader", "Impersonate-Group: a\r\nimpersonate-group:  system:masters \r\n"},
		{"no group", "GET", pods, "reader", "Impersonate-Group: \r\n"},
		{"an extra without a key", "GET", pods, "reader", "Impersonate-Extra-: x\r\n"},
		{"a service account as a user", "GET", pods, account + "other", ""},
		{"a service account as a user of groups", "GET", pods, account + "ok",
			"Impersonate-Group: system:serviceaccounts\r\n"},
		{"a node as a user", "GET", pods, node, ""},
		{"a node without a name", "GET", pods, "system:node:", ""},
		{"another verb", "GET", pods + "?watch=1&timeoutSeconds=1", "reader", ""},
		{"another verb by an old path", "GET", "/api/v1/watch/namespaces/default/pods?timeoutSeconds=1", "reader", ""},
		{"another resource", "GET", "/api/v1/namespaces/default/services", "reader", ""},
		{"a subresource", "GET", pods + "/p/log", "reader", ""},
		{"a path", "GET", "/api", "reader", ""},
		{"a deletion", "DELETE", pods, account + "ok", ""},
	} {
		if code := ask(c.method, c.path, c.as, c.headers); code != http.StatusForbidden {
			s.t.Errorf("%s: %d", c.what, code)
		}
	}
}
