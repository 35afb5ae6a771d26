package attacks

import (
	"fmt"
	"strings"
	"testing"
)

const (
	node = "system:node:evil"
	pods = "/api/v1/namespaces/default/pods"
)

// podOn is a pod of the node evil.
func podOn(name, annotations, spec string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: default, annotations: {%s}}\nspec: {nodeName: evil, containers: [{name: c, image: i}], %s}\n", name, annotations, spec)
}

const mirrors = "kubernetes.io/config.mirror: x"

// A node makes a mirror pod that claims devices, in its specification or as if the
// scheduler had. The attacker, who has taken over a node, would get devices of
// others and what is on them.
func mirrorPodsWithClaims(t *testing.T, s *target) {
	uid := strings.TrimSpace(s.Kubectl(t, "get", "node", "evil", "-o", "jsonpath={.metadata.uid}"))
	owned := strings.Replace(podOn("claims", mirrors, "%s"), "metadata: {", "metadata: {ownerReferences: [{apiVersion: v1, kind: Node, name: evil, controller: true, uid: "+uid+"}], ", 1)
	by := s.as(node)
	by.refused(403, "resourceclaims", "POST", pods,
		fmt.Sprintf(owned, "resourceClaims: [{name: r, resourceClaimName: theirs}]"))
	by.refused(403, "resourceclaims", "POST", pods, fmt.Sprintf(owned, "")+"status: {resourceClaimStatuses: [{name: r, resourceClaimName: theirs}]}\n")
	by.refused(403, "persistentvolumeclaims", "POST", pods, fmt.Sprintf(owned, "volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]"))
}

// A node gives its Node an owner that does not exist. The attacker would have the
// garbage collector delete the Node, which a node may not, and register anew
// without the taints and labels that keep secret workloads away.
func ownedNode(_ *testing.T, s *target) {
	s.as(node).refused(403, "modify ownerReferences", "PATCH", "/api/v1/nodes/evil",
		`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"1"}]}}`)
}

// A node asks for tokens of a pod that has no volume for one, or none for the
// audience. The attacker would be the service account of each pod on the node at
// the API server, or at others that trust its tokens.
func tokensWithoutVolumes(t *testing.T, s *target) {
	s.apply(podOn("tokenless", "", "automountServiceAccountToken: false"))
	uid := strings.TrimSpace(s.Kubectl(t, "get", "pod", "tokenless", "-o", "jsonpath={.metadata.uid}"))
	for _, audiences := range []string{"", "audiences: [vault], "} {
		s.as(node).refused(403, "not found in pod spec volume", "POST",
			"/api/v1/namespaces/default/serviceaccounts/default/token",
			"apiVersion: authentication.k8s.io/v1\nkind: TokenRequest\nspec: {"+audiences+"boundObjectRef: {apiVersion: v1, kind: Pod, name: tokenless, uid: "+uid+"}}\n")
	}
}

// Pods become mirror pods, or cease to be such, by an update, their status or a
// binding. The attacker would hide pods from controllers and drains, which leave
// mirror pods alone, or have a node's own pods pass for those of users.
func becomingMirrorPods(_ *testing.T, s *target) {
	s.apply(podOn("plain", "", ""))
	const patch = `{"metadata":{"annotations":{"kubernetes.io/config.mirror":"x"}}}`
	for _, sub := range []string{"", "/status"} {
		s.as("mallory").refused(422, "may not add mirror pod annotation", "PATCH", pods+"/plain"+sub, patch)
	}
	s.as(node).refused(422, "may not add mirror pod annotation", "PATCH", pods+"/plain/status", patch)
	s.apply("apiVersion: v1\nkind: Pod\nmetadata: {name: mirror, namespace: default, annotations: {" + mirrors + "}}\nspec: {nodeName: evil, containers: [{name: c, image: i}]}\n")
	for _, sub := range []string{"", "/status"} {
		s.as("mallory").refused(422, "may not remove or update mirror pod annotation", "PATCH", pods+"/mirror"+sub,
			strings.Replace(patch, `"x"`, "null", 1))
	}
	s.apply("apiVersion: v1\nkind: Pod\nmetadata: {name: unbound, namespace: default}\nspec: {containers: [{name: c, image: i}]}\n")
	s.as("").refused(422, "may not add mirror pod annotation", "POST", pods+"/unbound/binding",
		"apiVersion: v1\nkind: Binding\nmetadata: {name: unbound, annotations: {"+mirrors+"}}\ntarget: {name: evil}\n")
}

// A user makes a mirror pod, which has no service account to be held to, with
// secrets or tokens. The attacker would read what enforce-mountable-secrets keeps from
// them.
func mirrorPodsWithSecrets(_ *testing.T, s *target) {
	for _, spec := range []string{
		"volumes: [{name: v, secret: {secretName: s}}]",
		"volumes: [{name: v, projected: {sources: [{secret: {name: s}}]}}]",
		"imagePullSecrets: [{name: s}]",
		"initContainers: [{name: d, image: i, envFrom: [{secretRef: {name: s}}]}]",
	} {
		s.as("mallory").refused(403, "a mirror pod may not reference secrets", "POST", pods,
			podOn("secret", mirrors, spec))
	}
	s.as("mallory").refused(403, "a mirror pod may not reference service accounts", "POST", pods,
		podOn("account", mirrors, "serviceAccountName: default"))
	s.as("mallory").refused(403, "a mirror pod may not use ServiceAccountToken volume projections", "POST", pods,
		podOn("token", mirrors, "volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]"))
	s.as("mallory").refused(422, "must set spec.nodeName if mirror pod annotation is set", "POST", pods,
		"apiVersion: v1\nkind: Pod\nmetadata: {name: nowhere, annotations: {"+mirrors+"}}\nspec: {containers: [{name: c, image: i}]}\n")
}

// An update of a node changes what a policy compares with the old node. The
// attacker, who may update nodes, would pass it: the old node that admission saw
// had the new one's fields.
func oldNodes(_ *testing.T, s *target) {
	s.apply(`
apiVersion: v1
kind: Node
metadata: {name: guarded, labels: {guard: "on"}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: guard}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [nodes]}]}
  validations: [{expression: "!('guard' in oldObject.metadata.?labels.orValue({})) || object.metadata.?labels.guard.orValue('') == oldObject.metadata.labels.guard", message: the guard stays}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: guard}
spec: {policyName: guard, validationActions: [Deny]}
`)
	s.eventuallyRefused("the policy is in force", "the guard stays", func() (int, string) {
		return s.as("").do("PATCH", "/api/v1/nodes/guarded?dryRun=All", `{"metadata":{"labels":{"guard":"off"}}}`)
	})
	s.as("").refused(422, "the guard stays", "PATCH", "/api/v1/nodes/guarded", `{"metadata":{"labels":null}}`)
	s.as("").refused(422, "the guard stays", "PUT", "/api/v1/nodes/guarded", "apiVersion: v1\nkind: Node\nmetadata: {name: guarded, labels: {guard: 'off'}}\n")
}

// A node says that its address is this machine's, or a link's own. The attacker
// would reach, by the proxy of nodes, what listens for this machine alone: etcd,
// controllers, the cloud's metadata.
func loopbackNodes(_ *testing.T, s *target) {
	s.apply("apiVersion: v1\nkind: Node\nmetadata: {name: near}\n")
	for _, address := range []string{"127.0.0.1", "169.254.169.254", "::1", "0.0.0.0", "localhost"} {
		if code, answer := s.as("").do("PATCH", "/api/v1/nodes/near/status",
			`{"status":{"addresses":[{"type":"InternalIP","address":"`+address+`"}]}}`); code != 200 {
			s.t.Fatal(code, answer)
		}
		s.as("mallory").refused(400, "address not allowed", "GET", "/api/v1/nodes/near:2379/proxy/", "")
	}
}
