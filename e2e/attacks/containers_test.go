package attacks

import (
	"fmt"
	"testing"
)

const strictAccount = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: strict, namespace: default, annotations: {kubernetes.io/enforce-mountable-secrets: "%s"}}
secrets: [{name: own}]
imagePullSecrets: [{name: pull}]
`

// A debug container of a namespace that allows restricted pods only asks for
// everything. The attacker would own the node: policies that look at containers at
// creation alone do not see it.
func ephemeralWithoutPolicy(_ *testing.T, s *target) {
	s.apply(`
apiVersion: v1
kind: Namespace
metadata: {name: restricted, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: restricted}
---
apiVersion: v1
kind: Pod
metadata: {name: tame, namespace: restricted}
spec:
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers: [{name: c, image: i, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]
`)
	s.as("mallory").refused(403, "violates PodSecurity", "PATCH", "/api/v1/namespaces/restricted/pods/tame/ephemeralcontainers",
		`{"spec":{"ephemeralContainers":[{"name":"debug","image":"i","securityContext":{"runAsUser":0,"allowPrivilegeEscalation":true}}]}}`)
}

// A debug container takes secrets that the service account may not mount. The
// attacker would read all secrets of the namespace without a right to.
func secretsInEphemeralContainers(_ *testing.T, s *target) {
	s.apply(fmt.Sprintf(strictAccount, "true"))
	s.apply(podOn("debugged", "", "serviceAccountName: strict"))
	for _, from := range []string{
		`"env":[{"name":"E","valueFrom":{"secretKeyRef":{"name":"other","key":"k"}}}]`,
		`"envFrom":[{"secretRef":{"name":"other"}}]`,
	} {
		// As at kube-apiserver, the refusal is a bare error.
		s.as("mallory").refused(500, "service account strict does not reference that secret", "PATCH",
			pods+"/debugged/ephemeralcontainers",
			`{"spec":{"ephemeralContainers":[{"name":"debug","image":"i",`+from+`}]}}`)
	}
}

// Containers take secrets as their whole environment, or by an annotation that is
// true in other words. The attacker would read all secrets of the namespace.
func secretsByEnvFrom(_ *testing.T, s *target) {
	for _, yes := range []string{"true", "1", "T"} {
		s.apply(fmt.Sprintf(strictAccount, yes))
		for _, spec := range []string{
			"containers: [{name: c, image: i, envFrom: [{secretRef: {name: other}}]}]",
			"containers: [{name: c, image: i, env: [{name: E, valueFrom: {secretKeyRef: {name: other, key: k}}}]}]",
			"initContainers: [{name: d, image: i, envFrom: [{secretRef: {name: other}}]}], containers: [{name: c, image: i}]",
			"volumes: [{name: v, secret: {secretName: other}}], containers: [{name: c, image: i}]",
			"volumes: [{name: v, projected: {sources: [{secret: {name: other}}]}}], containers: [{name: c, image: i}]",
			"imagePullSecrets: [{name: other}], containers: [{name: c, image: i}]",
		} {
			s.as("mallory").refused(403, "service account strict does not reference that", "POST", pods,
				"apiVersion: v1\nkind: Pod\nmetadata: {name: greedy}\nspec: {serviceAccountName: strict, "+spec+"}\n")
		}
	}
}
