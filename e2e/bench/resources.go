package main

import (
	"fmt"
	"strings"
)

// resource is a kind of object that is used as load.
type resource struct {
	name       string
	collection string // path
	apiVersion string
	kind       string
	payload    string // what follows metadata
	patch      string // a merge patch; %d differs each time
	protobuf   bool
	setup      []setupObject
	// crowded says that deletions are measured beside 200 CRDs, which must not
	// make them slower.
	crowded bool
}

// setupObject is created before the load.
type setupObject struct{ path, body string }

// object is the JSON of an object of the resource.
func (r resource) object(name string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"labels":{"app":"bench","tier":"front"}},%s}`,
		r.apiVersion, r.kind, name, r.payload)
}

func (r resource) path(i int) string { return fmt.Sprintf("%s/o%06d", r.collection, i) }

// merge patches the ith object; what differs with value.
func (r resource) merge(i, value int) request {
	return request{method: "PATCH", path: r.path(i), contentType: "application/merge-patch+json",
		body: fmt.Appendf(nil, r.patch, value), want: 200}
}

var configMaps = resource{
	name: "ConfigMap (0.5 KB)", collection: "/api/v1/namespaces/default/configmaps", apiVersion: "v1",
	kind: "ConfigMap", protobuf: true,
	payload: `"data":{"config.yaml":"` + strings.Repeat("key: value, ", 24) + `","other":"` + strings.Repeat("x",
		64) + `"}`,
	patch: `{"data":{"other":"%d"}}`,
}

var pods = resource{
	name: "Pod (1.4 KB)", collection: "/api/v1/namespaces/default/pods", apiVersion: "v1", kind: "Pod", protobuf: true,
	payload: `"spec":{"containers":[{"name":"main","image":"registry.example.com/team/service:v1.2.3","args":["--listen=:8080","--verbose"],` +
		`"env":[{"name":"A","value":"` + strings.Repeat("a", 40) + `"},{"name":"B","value":"b"},{"name":"POD","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],` +
		`"ports":[{"containerPort":8080,"name":"http"}],"resources":{"requests":{"cpu":"100m","memory":"128Mi"},"limits":{"memory":"256Mi"}},` +
		`"livenessProbe":{"httpGet":{"path":"/healthz","port":8080}},"volumeMounts":[{"name":"config","mountPath":"/etc/config"}]}],` +
		`"volumes":[{"name":"config","configMap":{"name":"settings"}}],"nodeSelector":{"kubernetes.io/os":"linux"},` +
		`"tolerations":[{"key":"dedicated","operator":"Equal","value":"bench","effect":"NoSchedule"}],"serviceAccountName":"default"}`,
	patch:   `{"metadata":{"labels":{"tier":"%d"}}}`,
	crowded: true,
	setup:   []setupObject{{"/api/v1/namespaces/default/serviceaccounts", `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}`}},
}

var flunders = resource{
	name: "Flunder (0.5 KB)", collection: "/apis/wardle.example.com/v1alpha1/namespaces/default/flunders",
	apiVersion: "wardle.example.com/v1alpha1", kind: "Flunder",
	payload: flunderPayload, patch: `{"spec":{"reference":"%d"}}`,
}

var flundersCRD = resource{
	name: "Flunder (0.5 KB)", collection: flunders.collection, apiVersion: flunders.apiVersion, kind: flunders.kind,
	payload: flunderPayload, patch: flunders.patch,
	setup: []setupObject{definition("flunder", "wardle.example.com")},
}

// definition is a CRD of objects like Flunders.
func definition(singular, group string) setupObject {
	return setupObject{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1",
"kind":"CustomResourceDefinition","metadata":{"name":"%[1]ss.%[2]s"},"spec":{"group":%[2]q,"scope":"Namespaced",
"names":{"plural":"%[1]ss","singular":%[1]q,"kind":%[3]q},"versions":[{"name":"v1alpha1","served":true,"storage":true,
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"reference":{"type":"string"},"referenceType":{"type":"string"}}}}}}}]}}`,
		singular, group, strings.ToUpper(singular[:1])+singular[1:])}
}

var flunderPayload = `"spec":{"reference":"` + strings.Repeat("other ", 64) + `","referenceType":"Flunder"}`
