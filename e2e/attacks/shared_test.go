package attacks

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// rights are what the attackers have: mallory may write what a developer writes,
// and admission policies, but reads no secrets; the node "evil" is a node.
const rights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: mallory}
rules:
- {apiGroups: [""], resources: [pods, pods/ephemeralcontainers, pods/status, services, services/proxy, endpoints, nodes/proxy, configmaps], verbs: ["*"]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: ["*"]}
- {apiGroups: [admissionregistration.k8s.io], resources: ["*"], verbs: ["*"]}
- {apiGroups: [zoo.example.com], resources: [cats], verbs: [get, list, watch]}
- {apiGroups: [evil.example.com], resources: ["*"], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: mallory}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: mallory}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}
- {kind: ServiceAccount, namespace: default, name: mallory}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: editor, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:aggregate-to-edit"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: editor}]
---
apiVersion: v1
kind: Namespace
metadata: {name: victim}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: default}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: victim}
---
apiVersion: v1
kind: Node
metadata: {name: evil}
`

// TestAttacks tries what needs nothing of the server that others would notice, all
// at one server.
func TestAttacks(t *testing.T) {
	s := start(t, "--enable-admission-plugins=NodeRestriction,DenyServiceExternalIPs")
	s.KubectlIn(t, rights, "apply", "-f", "-")
	s.eventually("the rights are in force", 10*time.Second, func() bool {
		code, _ := s.as("mallory").do("GET", "/api/v1/configmaps", "")
		return code == http.StatusOK
	})
	for _, a := range []struct {
		name  string
		tried func(*testing.T, *target)
	}{
		{"an upgrade that failed (CVE-2018-1002105)", failedUpgrade},
		{"a patch of copies (CVE-2019-1002100)", patchOfCopies},
		{"cluster-wide resources in a namespace (CVE-2019-11247)", clusterWideInNamespace},
		{"a billion laughs (CVE-2019-11253)", billionLaughs},
		{"documents without an end (CVE-2019-11254)", malformedDocuments},
		{"external addresses of Services (CVE-2020-8554)", externalAddresses},
		{"a redirected upgrade (CVE-2020-8559)", redirectedUpgrade},
		{"a redirecting webhook (CVE-2020-8561)", redirectingWebhook},
		{"old nodes in admission (CVE-2021-25735)", oldNodes},
		{"endpoints at loopback addresses (CVE-2021-25737)", loopbackEndpoints},
		{"editors write endpoints (CVE-2021-25740)", editorsWriteEndpoints},
		{"paths to other custom resources (CVE-2022-3162)", pathsToOthers},
		{"a redirecting API server (CVE-2022-3172)", redirectingServer},
		{"nodes at loopback addresses (CVE-2022-3294)", loopbackNodes},
		{"ephemeral containers without a policy (like CVE-2023-2727)", ephemeralWithoutPolicy},
		{"secrets in ephemeral containers (CVE-2023-2728)", secretsInEphemeralContainers},
		{"streams that are reset (CVE-2023-44487)", rapidReset},
		{"secrets by envFrom (CVE-2024-3177)", secretsByEnvFrom},
		{"mirror pods with resource claims (CVE-2025-4563)", mirrorPodsWithClaims},
		{"a node owned by another (CVE-2025-5187)", ownedNode},
		{"constrained impersonation", constrainedImpersonation},
		{"tokens for pods without one", tokensWithoutVolumes},
		{"pods that become mirror pods", becomingMirrorPods},
		{"mirror pods with secrets", mirrorPodsWithSecrets},
		{"policies that read secrets", policiesReadSecrets},
		{"endpoints of other namespaces", endpointsOfOthers},
		{"headers of an external API server", headersOfServers},
		{"objects that thousands own", thousandsOfOwners},
		{"answers of webhooks without an end", endlessWebhooks},
		{"the status of claims for devices", statusOfClaims},
		{"long names in errors", longNames},
		{"patches of many levels", deepPatches},
		{"a schema of half a million levels", deepProtobuf},
		{"expressions that take long", longExpressions},
		{"a patch of insertions", patchOfInsertions},
		{"wrong values below a long name", longPaths},
		{"custom resources of many values", manyValues},
		{"fields that are wrong by the hundred thousand", manyWrongFields},
		{"patterns of long texts", longPatterns},
	} {
		t.Run(a.name, func(t *testing.T) {
			shared := *s
			shared.t = t
			a.tried(t, &shared)
		})
	}
}

// attacker sends requests as a user.
type attacker struct {
	s    *target
	name string
}

// as is somebody who has logged in; nodes are of their group.
func (s *target) as(name string) attacker { return attacker{s, name} }

// do sends a request, with a body of YAML or, to PATCH, a merge patch. Headers are
// pairs of names and values.
func (a attacker) do(method, path, body string, headers ...string) (code int, answer string) {
	a.s.t.Helper()
	ctx, cancel := context.WithTimeout(a.s.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, a.s.Config.Host+path, strings.NewReader(body))
	if err != nil {
		a.s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/yaml")
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if a.name != "" {
		r.Header.Set("Impersonate-User", a.name)
	}
	if strings.HasPrefix(a.name, "system:node:") {
		r.Header.Set("Impersonate-Group", "system:nodes")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := a.s.admin.Do(r)
	if err != nil {
		a.s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		a.s.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// refused requires that a request fails, for the reason that the text is a part of.
func (a attacker) refused(want int, text, method, path, body string, headers ...string) {
	a.s.t.Helper()
	code, answer := a.do(method, path, body, headers...)
	if code != want || !strings.Contains(answer, text) {
		a.s.t.Errorf("%s %.80s: %d %.500s, want %d %s", method, path, code, answer, want, text)
	}
}

// apply prepares an attack as the administrator.
func (s *target) apply(yaml string) {
	s.t.Helper()
	s.KubectlIn(s.t, yaml, "apply", "--server-side", "-f", "-")
}
