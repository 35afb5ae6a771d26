package attacks

import (
	"net/http"
	"strings"
	"testing"
)

// drivers may write the status of claims: the one of a driver on its node, the other
// that of one driver on any.
const drivers = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: drivers}
rules:
- {apiGroups: [resource.k8s.io], resources: [resourceclaims, resourceclaims/status], verbs: ["*"]}
- {apiGroups: [resource.k8s.io], resources: [resourceclaims/driver], resourceNames: [own.example.com], verbs: ["associated-node:patch"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: drivers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: drivers}
subjects: [{kind: ServiceAccount, namespace: default, name: driver}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: devices, namespace: default}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c}}]}}
`

// A driver of devices gives itself devices, or speaks for other drivers, or for its
// own on other nodes. The attacker, who has taken over a node, would have devices of
// others, or let pods start without theirs.
func statusOfClaims(t *testing.T, s *target) {
	s.apply(drivers)
	const claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
	const status = claims + "/devices/status"
	allocation := func(node string) string {
		selector := strings.ReplaceAll(`,"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["NODE"]}]}]}`, "NODE", node)
		return `"allocation":{"devices":{"results":[{"request":"r","driver":"own.example.com","pool":"p","device":"d"},{"request":"r","driver":"other.example.com","pool":"p","device":"d"}]}` + selector + `}`
	}
	device := func(driver string) string {
		return `{"status":{"devices":[{"driver":"` + driver + `","pool":"p","device":"d"}]}}`
	}
	driver := s.as("system:serviceaccount:default:driver")
	on := []string{"Impersonate-Extra-Authentication.kubernetes.io%2Fnode-name", "evil"}
	s.eventually("the driver may write", generous, func() bool {
		code, _ := driver.do("PATCH", status, `{"status":{}}`, on...)
		return code == http.StatusOK
	})
	driver.refused(422, `resource=\"resourceclaims/binding\"`, "PATCH", status, `{"status":{`+allocation("evil")+`}}`,
		on...)
	if code, answer := s.as("").do("PATCH", status, `{"status":{`+allocation("evil")+`}}`); code != http.StatusOK {
		t.Fatal(code, answer)
	}
	driver.refused(422, `resource=\"resourceclaims/binding\"`, "PATCH", status, `{"status":{"reservedFor":[{"resource":"pods","name":"p","uid":"u"}]}}`, on...)
	driver.refused(422, `resource=\"resourceclaims/driver\"`, "PATCH", status, device("other.example.com"), on...)
	driver.refused(422, `resource=\"resourceclaims/driver\"`, "PATCH", status, device("own.example.com"), on[0],
		"elsewhere")
	driver.refused(422, `resource=\"resourceclaims/driver\"`, "PATCH", status, device("own.example.com"))
	if code, answer := driver.do("PATCH", status, device("own.example.com"), on...); code != http.StatusOK {
		t.Errorf("a driver on its node: %d %s", code, answer)
	}
	driver.refused(422, "admin access to devices requires", "POST", claims,
		"apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: admin}\nspec: {devices: {requests: [{name: r, exactly: {deviceClassName: c, adminAccess: true}}]}}\n")
}
