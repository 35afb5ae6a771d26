package nodeauthorizer

import (
	"slices"

	"triplane.dev/generic/base/authorizer"
)

// rule is what every node may do, beside what is decided object by object.
type rule struct {
	group, resource string
	verbs           []string
}

var (
	reads  = []string{"get", "list", "watch"}
	writes = []string{"create", "update", "patch"}
)

var rules = []rule{
	{"authentication.k8s.io", "tokenreviews", []string{"create"}},
	{"authorization.k8s.io", "subjectaccessreviews", []string{"create"}},
	{"authorization.k8s.io", "localsubjectaccessreviews", []string{"create"}},
	{"", "services", reads},
	{"", "endpoints", []string{"get"}},
	{"", "nodes", writes},
	{"", "nodes/status", []string{"update", "patch"}},
	{"", "events", writes},
	{"events.k8s.io", "events", writes},
	{"", "pods", []string{"create", "delete"}},
	{"", "pods/status", []string{"update", "patch"}},
	{"", "pods/eviction", []string{"create"}},
	{"certificates.k8s.io", "certificatesigningrequests", []string{"create", "get", "list", "watch"}},
	{"storage.k8s.io", "csidrivers", reads},
	{"node.k8s.io", "runtimeclasses", reads},
}

func rulesAllow(a *authorizer.Attributes) bool {
	if !a.ResourceRequest {
		return false
	}
	for i := range rules {
		if r := &rules[i]; r.group == a.APIGroup && r.covers(a.Resource, a.Subresource) && slices.Contains(r.verbs, a.Verb) {
			return true
		}
	}
	return false
}

func (r *rule) covers(resource, subresource string) bool {
	if subresource == "" {
		return r.resource == resource
	}
	n := len(resource)
	return len(r.resource) == n+1+len(subresource) && r.resource[:n] == resource && r.resource[n] == '/' &&
		r.resource[n+1:] == subresource
}
