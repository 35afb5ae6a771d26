package nodeauthorizer

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

const (
	userPrefix     = "system:node:"
	leaseNamespace = "kube-node-lease"
)

// Authorizer decides about nodes. It is safe for concurrent use.
type Authorizer struct {
	features Features
	graph    graph
}

// Features are the resources that feature gates add.
type Features struct {
	TrustBundles    bool // ClusterTrustBundle
	PodCertificates bool // PodCertificateRequest
}

// New returns an authorizer that knows of no pods yet.
func New(f Features) *Authorizer {
	return &Authorizer{features: f, graph: graph{
		pods: map[name]podEntry{}, uses: map[use]int{}, volumes: map[string]volumeEntry{},
		volumesOf: map[name]map[string]bool{}, attachments: map[string]string{}, slices: map[string]string{},
		certificates: map[name]string{},
	}}
}

// Name returns the node that a user is; false where they are none.
func Name(u *user.Info) (string, bool) {
	if u == nil {
		return "", false
	}
	node, ok := strings.CutPrefix(u.Name, userPrefix)
	return node, ok && u.InGroup(user.NodesGroup)
}

// Authorize implements authorizer.Authorizer.
func (a *Authorizer) Authorize(_ context.Context, attrs *authorizer.Attributes) (authorizer.Decision, string, error) {
	node, ok := Name(attrs.User)
	if !ok {
		return authorizer.NoOpinion, "", nil
	}
	if node == "" {
		return authorizer.NoOpinion, "unknown node for user \"" + attrs.User.Name + "\"", nil
	}
	answer := undecided
	if attrs.ResourceRequest {
		answer = a.resource(node, attrs)
	}
	if answer == undecided && rulesAllow(attrs) {
		answer = allowed
	}
	switch answer {
	case allowed:
		return authorizer.Allow, "", nil
	case undecided:
		return authorizer.NoOpinion, "", nil
	}
	return authorizer.NoOpinion, string(answer), nil
}

// verdict is allowed, undecided (the fixed rules are asked), or why not.
type verdict string

const (
	allowed   verdict = "\x00allowed"
	undecided verdict = "\x00undecided"
)

func (a *Authorizer) resource(node string, attrs *authorizer.Attributes) verdict {
	switch attrs.APIGroup {
	case "":
		return a.core(node, attrs)
	case "resource.k8s.io":
		switch attrs.Resource {
		case "resourceclaims":
			return a.get(node, attrs, func() bool {
				return a.graph.reaches(node, object{resourceClaim, attrs.Namespace, attrs.Name})
			})
		case "resourceslices":
			return a.slice(node, attrs)
		}
	case "storage.k8s.io":
		switch attrs.Resource {
		case "volumeattachments":
			return a.get(node, attrs, func() bool { return a.graph.attaches(node, attrs.Name) })
		case "csinodes":
			return csiNode(node, attrs)
		}
	case "coordination.k8s.io":
		if attrs.Resource == "leases" {
			return lease(node, attrs)
		}
	case "certificates.k8s.io":
		return a.certificates(node, attrs)
	}
	return undecided
}

func (a *Authorizer) core(node string, attrs *authorizer.Attributes) verdict {
	switch attrs.Resource {
	case "secrets":
		return a.read(node, secret, attrs)
	case "configmaps":
		return a.read(node, configMap, attrs)
	case "persistentvolumeclaims":
		used := func() bool { return a.graph.reaches(node, object{claim, attrs.Namespace, attrs.Name}) }
		if attrs.Subresource == "status" {
			return updateStatus(node, attrs, used)
		}
		return a.get(node, attrs, used)
	case "persistentvolumes":
		return a.get(node, attrs, func() bool { return a.graph.reachesVolume(node, attrs.Name) })
	case "serviceaccounts":
		return a.serviceAccount(node, attrs)
	case "nodes":
		return ownNode(node, attrs)
	case "pods":
		return a.pod(node, attrs)
	}
	return undecided
}

func related(node string, attrs *authorizer.Attributes, used func() bool) verdict {
	switch {
	case attrs.Name == "":
		return "No Object name found"
	case !used():
		return verdict("no relationship found between node '" + node + "' and this object")
	}
	return allowed
}

// read allows get, list and watch of single objects that pods use.
func (a *Authorizer) read(node string, k kind, attrs *authorizer.Attributes) verdict {
	switch {
	case !attrs.IsReadOnly():
		return "can only read resources of this type"
	case attrs.Subresource != "":
		return "cannot read subresource"
	case attrs.Namespace == "":
		return "can only read namespaced object of this type"
	}
	return related(node, attrs, func() bool { return a.graph.reaches(node, object{k, attrs.Namespace, attrs.Name}) })
}

func (a *Authorizer) get(node string, attrs *authorizer.Attributes, used func() bool) verdict {
	switch {
	case attrs.Verb != "get":
		return "can only get individual resources of this type"
	case attrs.Subresource != "":
		return "cannot get subresource"
	}
	return related(node, attrs, used)
}

func updateStatus(node string, attrs *authorizer.Attributes, used func() bool) verdict {
	if attrs.Verb != "get" && attrs.Verb != "update" && attrs.Verb != "patch" {
		return "can only get/update/patch this type"
	}
	return related(node, attrs, used)
}

func (a *Authorizer) serviceAccount(node string, attrs *authorizer.Attributes) verdict {
	switch {
	case attrs.Verb == "get" && attrs.Subresource == "":
		return a.read(node, serviceAccount, attrs)
	case attrs.Verb != "create" || attrs.Name == "":
		return "can only create tokens for individual service accounts"
	case attrs.Subresource != "token":
		return "can only create token subresource of serviceaccount"
	}
	return related(node, attrs, func() bool {
		return a.graph.reaches(node, object{serviceAccount, attrs.Namespace, attrs.Name})
	})
}

func ownNode(node string, attrs *authorizer.Attributes) verdict {
	switch {
	case attrs.Subresource != "" || !attrs.IsReadOnly():
		return undecided
	case attrs.Name == node:
		return allowed
	case attrs.Name == "":
		return verdict("node '" + node + "' cannot read all nodes, only its own Node object")
	}
	return verdict("node '" + node + "' cannot read '" + attrs.Name + "', only its own Node object")
}

func (a *Authorizer) pod(node string, attrs *authorizer.Attributes) verdict {
	if attrs.Subresource != "" {
		return undecided
	}
	switch attrs.Verb {
	case "get":
		return related(node, attrs, func() bool { return a.graph.runs(node, attrs.Namespace, attrs.Name) })
	case "list", "watch":
		if selects(attrs.FieldSelector, "spec.nodeName", node) {
			return allowed
		}
		if attrs.Name != "" {
			// A selector of one name makes it as good as a get.
			return related(node, attrs, func() bool { return a.graph.runs(node, attrs.Namespace, attrs.Name) })
		}
		return "can only list/watch pods with spec.nodeName field selector"
	}
	return undecided
}

func (a *Authorizer) slice(node string, attrs *authorizer.Attributes) verdict {
	if attrs.Subresource != "" {
		return "cannot authorize ResourceSlice subresources"
	}
	switch attrs.Verb {
	case "create":
		// The NodeRestriction admission plugin sees which node it is for.
		return allowed
	case "get", "update", "patch", "delete":
		return related(node, attrs, func() bool { return a.graph.publishes(node, attrs.Name) })
	case "list", "watch", "deletecollection":
		if selects(attrs.FieldSelector, "spec.nodeName", node) {
			return allowed
		}
		return "can only list/watch/deletecollection resourceslices with nodeName field selector"
	}
	return "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection"
}

func (a *Authorizer) certificates(node string, attrs *authorizer.Attributes) verdict {
	switch {
	case attrs.Resource == "podcertificaterequests" && a.features.PodCertificates:
		return a.podCertificate(node, attrs)
	case attrs.Resource == "clustertrustbundles" && a.features.TrustBundles && attrs.Subresource == "" &&
		attrs.IsReadOnly():
		return allowed
	}
	return undecided
}

func (a *Authorizer) podCertificate(node string, attrs *authorizer.Attributes) verdict {
	if attrs.Subresource != "" {
		return verdict("nodes may not access the " + attrs.Subresource + " subresource of PodCertificateRequests")
	}
	switch attrs.Verb {
	case "create":
		// The NodeRestriction admission plugin sees which pod it is for.
		return allowed
	case "get":
		return related(node, attrs, func() bool { return a.graph.requested(node, attrs.Namespace, attrs.Name) })
	case "list", "watch":
		if selects(attrs.FieldSelector, "spec.nodeName", node) {
			return allowed
		}
		return "can only list/watch podcertificaterequests with nodeName field selector"
	}
	return verdict("nodes may not " + attrs.Verb + " podcertificaterequests")
}

func lease(node string, attrs *authorizer.Attributes) verdict {
	switch {
	case !writesOne(attrs.Verb):
		return "can only get, create, update, patch, or delete a node lease"
	case attrs.Namespace != leaseNamespace:
		return "can only access leases in the \"" + leaseNamespace + "\" system namespace"
	case attrs.Verb != "create" && attrs.Name != node:
		return "can only access node lease with the same name as the requesting node"
	}
	return allowed
}

func csiNode(node string, attrs *authorizer.Attributes) verdict {
	switch {
	case !writesOne(attrs.Verb):
		return "can only get, create, update, patch, or delete a CSINode"
	case attrs.Subresource != "":
		return "cannot authorize CSINode subresources"
	case attrs.Verb != "create" && attrs.Name != node:
		return "can only access CSINode with the same name as the requesting node"
	}
	return allowed
}

func writesOne(verb string) bool {
	switch verb {
	case "get", "create", "update", "patch", "delete":
		return true
	}
	return false
}

// selects reports whether a field selector leaves only what has the value.
func selects(requirements fields.Requirements, field, value string) bool {
	for _, r := range requirements {
		if r.Field == field && r.Value == value && (r.Operator == selection.Equals || r.Operator == selection.DoubleEquals) {
			return true
		}
	}
	return false
}
