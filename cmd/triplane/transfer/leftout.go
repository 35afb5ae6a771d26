package transfer

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// leftOut are resources of which each server has its own objects, with the reason.
var leftOut = map[schema.GroupResource]string{
	{Resource: "events"}:                                                   "of the past",
	{Group: "events.k8s.io", Resource: "events"}:                           "of the past",
	{Group: "coordination.k8s.io", Resource: "leases"}:                     "of who runs",
	{Group: "coordination.k8s.io", Resource: "leasecandidates"}:            "of who runs",
	{Group: "networking.k8s.io", Resource: "ipaddresses"}:                  "made with Services",
	{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}: "of who has asked",
	{Group: "internal.apiserver.k8s.io", Resource: "storageversions"}:      "of who runs",
}

// made are names that a server creates by itself: NAMESPACE/NAME, or */NAME in all namespaces.
var made = map[schema.GroupResource][]string{
	{Resource: "configmaps"}:                                  {"*/kube-root-ca.crt", "kube-system/extension-apiserver-authentication", "kube-system/kube-apiserver-legacy-service-account-token-tracking"},
	{Resource: "services"}:                                    {"default/kubernetes"},
	{Resource: "endpoints"}:                                   {"default/kubernetes"},
	{Group: "discovery.k8s.io", Resource: "endpointslices"}:   {"default/kubernetes"},
	{Group: "networking.k8s.io", Resource: "servicecidrs"}:    {"/kubernetes"},
	{Group: "scheduling.k8s.io", Resource: "priorityclasses"}: {"/system-cluster-critical", "/system-node-critical"},
}

// marks are labels and annotations of objects that a server keeps up by itself.
var marks = map[string][]string{
	"rbac.authorization.kubernetes.io/autoupdate": {"true"},
	"apf.kubernetes.io/autoupdate-spec":           {"true"},
	"kube-aggregator.kubernetes.io/automanaged":   {"true", "onstart"},
	"endpointslice.kubernetes.io/managed-by":      {"endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"},
	"endpoints.kubernetes.io/managed-by":          {"endpoint-controller"},
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
	// A token is signed with a key that the other server does not have.
	kind, _, _ := unstructured.NestedString(o.Object, "type")
	return r.Group == "" && r.Resource == "secrets" && kind == "kubernetes.io/service-account-token"
}
