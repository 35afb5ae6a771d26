package transfer

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// leftOut are resources that are not exported, with the reason.
var leftOut = map[schema.GroupResource]string{
	{Resource: "events"}:                                                   "temporary",
	{Group: "events.k8s.io", Resource: "events"}:                           "temporary",
	{Group: "coordination.k8s.io", Resource: "leases"}:                     "leases of running processes",
	{Group: "coordination.k8s.io", Resource: "leasecandidates"}:            "leases of running processes",
	{Group: "networking.k8s.io", Resource: "ipaddresses"}:                  "created with Services",
	{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}: "temporary",
	{Group: "internal.apiserver.k8s.io", Resource: "storageversions"}:      "leases of running processes",
}

// made are the names of objects that a server creates itself: NAMESPACE/NAME, or */NAME in all namespaces.
var made = map[schema.GroupResource][]string{
	{Resource: "configmaps"}: {"*/kube-root-ca.crt",
		"kube-system/extension-apiserver-authentication",
		"kube-system/kube-apiserver-legacy-service-account-token-tracking"},
	{Resource: "services"}:                                    {"default/kubernetes"},
	{Resource: "endpoints"}:                                   {"default/kubernetes"},
	{Group: "discovery.k8s.io", Resource: "endpointslices"}:   {"default/kubernetes"},
	{Group: "networking.k8s.io", Resource: "servicecidrs"}:    {"/kubernetes"},
	{Group: "scheduling.k8s.io", Resource: "priorityclasses"}: {"/system-cluster-critical", "/system-node-critical"},
}

// marks are labels and annotations of objects that a server maintains itself.
var marks = map[string][]string{
	"rbac.authorization.kubernetes.io/autoupdate": {"true"},
	"apf.kubernetes.io/autoupdate-spec":           {"true"},
	"kube-aggregator.kubernetes.io/automanaged":   {"true", "onstart"},
	"endpointslice.kubernetes.io/managed-by": {"endpointslice-controller.k8s.io",
		"endpointslicemirroring-controller.k8s.io"},
	"endpoints.kubernetes.io/managed-by": {"endpoint-controller"},
}

// isLeftOut reports whether an object is not exported.
func isLeftOut(r schema.GroupResource, o *unstructured.Unstructured) bool {
	if o.GetDeletionTimestamp() != nil {
		return true
	}
	for _, name := range made[r] {
		namespace, name, _ := strings.Cut(name, "/")
		if name == o.GetName() && (namespace == "*" || namespace == o.GetNamespace()) {
			return true
		}
	}
	for _, marked := range []map[string]string{o.GetLabels(), o.GetAnnotations()} {
		for key, values := range marks {
			if value, is := marked[key]; is && slices.Contains(values, value) {
				return true
			}
		}
	}
	// A token is signed with a key that the importing server does not have.
	kind, _, _ := unstructured.NestedString(o.Object, "type")
	return r.Group == "" && r.Resource == "secrets" && kind == "kubernetes.io/service-account-token"
}
