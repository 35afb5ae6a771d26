package apiextensions

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const scaledWidgets = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},"versions":[%s,%s,%s]}}`

// scaledVersion is a version with a scale, unless subresources has none.
func scaledVersion(name string, storage bool, subresources string) string {
	return fmt.Sprintf(`{"name":"%s","served":true,"storage":%t,"subresources":%s,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`,
		name, storage, subresources)
}

// TestScaleOfVersions reads and writes the replicas of each version where that has them.
func TestScaleOfVersions(t *testing.T) {
	do := sender(startServer(t))
	crd := fmt.Sprintf(scaledWidgets,
		scaledVersion("v1", true, `{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}}`),
		scaledVersion("v2", false, `{"status":{},"scale":{"specReplicasPath":".spec.pool.size","statusReplicasPath":".status.ready"}}`),
		scaledVersion("v3", false, `{"status":{}}`))
	if code, body := do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd); code != 201 {
		t.Fatalf("definition: %d %s", code, body)
	}
	const v1, v2, v3 = "/apis/example.com/v1/namespaces/a/widgets", "/apis/example.com/v2/namespaces/a/widgets", "/apis/example.com/v3/namespaces/a/widgets"
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if code, body := do("GET", v1, ""); code == 200 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("objects: %d %s", code, body)
		}
	}
	widget := func(version, name, rest string) string {
		return fmt.Sprintf(`{"apiVersion":"example.com/%s","kind":"Widget","metadata":{"name":"%s"},%s}`, version, name, rest)
	}
	for _, step := range []struct {
		name, method, path, body string
		code                     int
		has                      string
	}{
		{"create", "POST", v1, widget("v1", "w", `"spec":{"replicas":1,"pool":{"size":2}}`), 201, `"generation":1`},
		{"the status", "PATCH", v1 + "/w/status", `{"status":{"replicas":3,"ready":4,"selector":"a=b"}}`, 200, `"ready":4`},
		{"the storage version's", "GET", v1 + "/w/scale", "", 200, `"spec":{"replicas":1},"status":{"replicas":3,"selector":"a=b"}`},
		{"the other's", "GET", v2 + "/w/scale", "", 200, `"spec":{"replicas":2},"status":{"replicas":4}`},
		{"of a version without", "GET", v3 + "/w/scale", "", 404, "not found"},
		{"nor written", "PATCH", v3 + "/w/scale", `{"spec":{"replicas":5}}`, 404, "not found"},
		{"a change", "PATCH", v2 + "/w/scale?fieldManager=hpa", `{"spec":{"replicas":7}}`, 200, `"spec":{"replicas":7},"status":{"replicas":4}`},
		{"is where the version has it", "GET", v1 + "/w", "", 200, `"spec":{"pool":{"size":7},"replicas":1}`},
		{"and owned there", "GET", v1 + "/w", "", 200, `"apiVersion":"example.com/v2","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:pool":{"f:size":{}}}},"manager":"hpa"`},
		{"the storage version's stays", "GET", v1 + "/w/scale", "", 200, `"spec":{"replicas":1}`},
		{"validated as the version's", "PATCH", v2 + "/w/scale", `{"spec":{"replicas":-1}}`, 422, ".spec.pool.size: Invalid value: -1"},
		{"none", "PATCH", v2 + "/w/scale", `{"spec":{"replicas":null}}`, 200, `"spec":{}`},

		{"what another version does not validate", "POST", v3, widget("v3", "bad", `"spec":{"replicas":-1}`), 201, `"replicas":-1`},
		{"does not keep a status from being written", "PATCH", v1 + "/bad/status", `{"status":{"replicas":2}}`, 200, `"status":{"replicas":2}`},
		{"which is validated itself", "PATCH", v1 + "/bad/status", `{"status":{"replicas":-2}}`, 422, ".status.replicas: Invalid value: -2"},
		{"unlike the spec", "PATCH", v1 + "/bad", `{"spec":{"a":"b"}}`, 422, ".spec.replicas: Invalid value: -1"},
		{"no replicas", "GET", v2 + "/bad/scale", "", 500, `the spec replicas field \".spec.pool.size\" does not exist`},
		{"replicas that are none", "POST", v3, widget("v3", "text", `"spec":{"replicas":"x"}`), 201, ""},
		{"are said to be", "GET", v1 + "/text/scale", "", 500, `"message":".spec.replicas accessor error: x is of the type string, expected int64","code":500`},
	} {
		if code, body := do(step.method, step.path, step.body); code != step.code || !strings.Contains(body, step.has) {
			t.Errorf("%s: %d %s", step.name, code, body)
		}
	}
}
