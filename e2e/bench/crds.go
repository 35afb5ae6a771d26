package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"triplane.dev/e2e/harness"
)

const (
	// definitionsName is the server that is measured with large CRDs.
	definitionsName = "Triplane, embedded etcd, large CRDs"
	largeGroup      = "large.example.com"
	// largeCRDs is how many a provider of a cloud brings.
	largeCRDs = 200

	// What addKept is told of. Idle is after a start, before any request for them; listed is
	// without objects, and used with one.
	usedDefinition   = "CRD of 47 KB, in use"
	listedDefinition = "CRD of 47 KB, listed"
	idleDefinition   = "CRD of 47 KB, idle"
)

// largeDefinitions is the row of the resource "CRD": definitions of the size that
// providers publish, from their creation to the documents made of them.
func largeDefinitions(p harness.Programs) kind {
	return kind{definitionsName, func(res *results, server string) error {
		return withTarget(func(dir string) (*target, error) { return startTriplane(p, dir) }, func(t *target) error {
			return measureDefinitions(res, server, p, t)
		})
	}}
}

func measureDefinitions(res *results, server string, p harness.Programs, t *target) error {
	time.Sleep(idleAfter)
	before := residentBytes(t.pids)
	res.addStart(server, t.ready, before)
	b := newBench(t)
	n := b.n(largeCRDs)
	resource := largeResource()
	m, err := b.createDefinitions(n)
	if err != nil {
		return err
	}
	res.add(resource, "create, until it is served", server, m)
	time.Sleep(15 * time.Second) // what is not needed is given back
	res.addKept(listedDefinition, (residentBytes(t.pids)-before)/int64(n))
	if err := b.documents(res, server, resource); err != nil {
		return err
	}
	b.loader.close()
	return restartWithDefinitions(res, server, resource, p, t, n, before)
}

// createDefinitions creates n CRDs with all clients; an operation is over when the
// new resource answers a list.
func (b *bench) createDefinitions(n int) (measured, error) {
	return b.load(n, func(i int) request {
		return request{
			method: "POST", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
			contentType: "application/json",
			body:        largeDefinition(i), want: http.StatusCreated,
			until: "/apis/" + largeGroup + "/v1/" + largePlural(i) + "?limit=1",
		}
	})
}

// documents reads what is made of all definitions, compressed as clients of client-go do.
func (b *bench) documents(res *results, server, resource string) error {
	for _, phase := range []string{"first /openapi/v2", "second /openapi/v2"} {
		m, err := b.load(1, func(int) request {
			return request{method: "GET", path: "/openapi/v2", want: http.StatusOK, gzip: true}
		})
		if err != nil {
			return err
		}
		res.add(resource, phase, server, m)
	}
	var index struct {
		Paths map[string]struct {
			URL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := b.get("/openapi/v3", &index); err != nil {
		return err
	}
	var urls []string
	for _, p := range index.Paths {
		urls = append(urls, p.URL)
	}
	m, err := b.load(len(urls), func(i int) request {
		return request{method: "GET", path: urls[i], want: http.StatusOK, gzip: true}
	})
	if err != nil {
		return err
	}
	m.ops = 1 // all of them are the operation
	res.add(resource, "all of /openapi/v3", server, m)
	return nil
}

// restartWithDefinitions starts the server anew after each CRD has an object; before is the
// memory of a server without any.
func restartWithDefinitions(res *results, server, resource string, p harness.Programs, t *target, n int,
	before int64) error {
	b := newBench(t)
	m, err := b.load(n, func(i int) request {
		return request{
			method: "POST", path: "/apis/" + largeGroup + "/v1/namespaces/default/" + largePlural(i),
			contentType: "application/json", want: http.StatusCreated,
			body: fmt.Appendf(nil, `{"apiVersion":"%s/v1","kind":"Large%d","metadata":{"name":"o"},"spec":{"part0":{"name":"a","size":3}}}`, largeGroup, i),
		}
	})
	b.loader.close()
	if err != nil {
		return err
	}
	res.add(resource, "first object of each", server, m)
	time.Sleep(15 * time.Second)
	res.addKept(usedDefinition, (residentBytes(t.pids)-before)/int64(n))
	if err := t.again(p); err != nil {
		return err
	}
	time.Sleep(10 * time.Second)
	cpu := cpuTime(t.pids)
	res.add(resource, "start with all of them", server,
		measured{ops: 1, cpu: cpu, elapsed: t.ready, p50: t.ready, p99: t.ready})
	resident := residentBytes(t.pids)
	res.addKept(idleDefinition, (resident-before)/int64(n))
	res.addLoaded(server, resident)
	return nil
}

// largeResource names the rows.
func largeResource() string { return fmt.Sprintf("CRD (%d KB)", len(largeDefinition(0))>>10) }

func largePlural(i int) string { return fmt.Sprintf("large%ds", i) }

// largeDefinition is a CRD of some 47 KB as generators write them: long
// descriptions, parts that all CRDs of a provider share, parts of its own, limits, a few
// rules, and conditions in the status.
func largeDefinition(i int) []byte {
	parts := map[string]any{}
	for part := range 9 {
		parts[fmt.Sprintf("part%d", part)] = ownPart(i, part)
	}
	parts["providerConfigRef"] = sharedReference("providerConfigRef names the configuration of the provider that is used to create, observe, update and delete this resource.")
	parts["secretRef"] = sharedReference("secretRef names the secret to which the details of the connection are written, for use by others.")
	parts["selector"] = sharedSelector()
	parts["template"] = objectOf("template is what the pods are made from.", map[string]any{
		"affinity": sharedSelector(), "env": listOf("env is the environment of the container.", sharedEnv()),
		"resources": sharedQuantities(),
	})
	d := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": largePlural(i) + "." + largeGroup,
			"annotations": map[string]any{"controller-gen.kubebuilder.io/version": "v0.19.0"}},
		"spec": map[string]any{
			"group": largeGroup, "scope": "Namespaced",
			"names": map[string]any{"plural": largePlural(i), "singular": fmt.Sprintf("large%d", i),
				"kind": fmt.Sprintf("Large%d", i), "categories": []string{"all-large"}},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"additionalPrinterColumns": []any{
					map[string]any{"name": "READY", "type": "string",
						"jsonPath": ".status.conditions[?(@.type=='Ready')].status"},
					map[string]any{"name": "AGE", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
				},
				"schema": map[string]any{"openAPIV3Schema": objectOf("Large is a resource of the provider.",
					map[string]any{
						"apiVersion": described("string", "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values."),
						"kind":       described("string", "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to."),
						"metadata":   map[string]any{"type": "object"},
						"spec":       objectOf("spec is the desired state.", parts),
						"status": objectOf("status is the observed state.",
							map[string]any{"conditions": sharedConditions()}),
					})},
			}},
		},
	}
	body, _ := json.Marshal(d)
	return body
}

func described(kind, description string) map[string]any {
	return map[string]any{"type": kind, "description": description}
}

func objectOf(description string, properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "description": description, "properties": properties}
}

func listOf(description string, items map[string]any) map[string]any {
	return map[string]any{"type": "array", "description": description, "items": items}
}

// ownPart is what only the ith CRD has.
func ownPart(i, part int) map[string]any {
	text := func(about string) string {
		return fmt.Sprintf("%s of part %d of resource %d. %s", about, part, i, strings.Repeat("It is set by whoever creates the resource and cannot be changed afterwards. ", 2))
	}
	name := described("string", text("The name"))
	name["minLength"], name["maxLength"], name["pattern"] = 1, 63, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	size := described("integer", text("The size"))
	size["minimum"], size["maximum"], size["format"], size["default"] = 1, 1000, "int32", 1
	mode := described("string", text("The mode"))
	mode["enum"] = []string{"Automatic", "Manual", fmt.Sprintf("Mode%d", i), fmt.Sprintf("Mode%d", part)}
	tags := described("object", text("The tags"))
	tags["additionalProperties"] = map[string]any{"type": "string"}
	rules := listOf(text("The rules"), objectOf(text("A rule"), map[string]any{
		"from": described("integer", text("The first port")), "to": described("integer", text("The last port")),
		"cidrs":    listOf(text("The blocks"), map[string]any{"type": "string"}),
		"protocol": described("string", text("The protocol")),
		"group":    sharedReference(text("The group")),
	}))
	rules["maxItems"] = 16
	o := objectOf(text("The settings"), map[string]any{
		"name": name, "size": size, "mode": mode, "tags": tags, "rules": rules,
		"enabled":                    described("boolean", text("Whether it is there")),
		fmt.Sprintf("field%d", i%17): described("string", text("The value")),
	})
	o["required"] = []string{"name"}
	if part < 2 {
		o["x-kubernetes-validations"] = []any{map[string]any{"rule": "!has(self.size) || self.size < 500 || has(self.mode)", "message": "a large size needs a mode"}}
	}
	return o
}

func sharedReference(description string) map[string]any {
	o := objectOf(description, map[string]any{
		"name":      described("string", "Name of the referenced object."),
		"namespace": described("string", "Namespace of the referenced object."),
		"policy": objectOf("Policies for referencing.", map[string]any{
			"resolution": map[string]any{"type": "string", "default": "Required", "enum": []string{"Required", "Optional"}, "description": "Resolution specifies whether resolution of this reference is required. The default is 'Required', which means the reconcile will fail if the reference cannot be resolved. 'Optional' means this reference will be a no-op if it cannot be resolved."},
			"resolve":    map[string]any{"type": "string", "enum": []string{"Always", "IfNotPresent"}, "description": "Resolve specifies when this reference should be resolved. The default is 'IfNotPresent', which will attempt to resolve the reference only when the corresponding field is not present. Use 'Always' to resolve the reference on every reconcile."},
		}),
	})
	o["required"] = []string{"name"}
	return o
}

func sharedSelector() map[string]any {
	return objectOf("A label selector is a label query over a set of resources. The result of matchLabels and matchExpressions are ANDed.", map[string]any{
		"matchLabels": map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}, "description": "matchLabels is a map of {key,value} pairs. A single {key,value} in the matchLabels map is equivalent to an element of matchExpressions."},
		"matchExpressions": listOf("matchExpressions is a list of label selector requirements. The requirements are ANDed.", objectOf("A label selector requirement is a selector that contains values, a key, and an operator that relates the key and values.", map[string]any{
			"key": described("string", "key is the label key that the selector applies to."), "operator": described("string", "operator represents a key's relationship to a set of values. Valid operators are In, NotIn, Exists and DoesNotExist."),
			"values": listOf("values is an array of string values. If the operator is In or NotIn, the values array must be non-empty.", map[string]any{"type": "string"}),
		})),
	})
}

func sharedEnv() map[string]any {
	return objectOf("EnvVar represents an environment variable present in a Container.", map[string]any{
		"name": described("string", "Name of the environment variable. Must be a C_IDENTIFIER."), "value": described("string", "Variable references $(VAR_NAME) are expanded using the previously defined environment variables in the container and any service environment variables."),
		"valueFrom": objectOf("Source for the environment variable's value. Cannot be used if value is not empty.", map[string]any{
			"configMapKeyRef": sharedReference("Selects a key of a ConfigMap."),
			"secretKeyRef":    sharedReference("Selects a key of a secret in the pod's namespace"),
		}),
	})
}

func sharedQuantities() map[string]any {
	amounts := map[string]any{"type": "object", "additionalProperties": map[string]any{
		"anyOf":                      []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}},
		"x-kubernetes-int-or-string": true,
		"pattern":                    `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`,
	}}
	return objectOf("Compute resources required by this container.",
		map[string]any{"limits": amounts, "requests": amounts})
}

func sharedConditions() map[string]any {
	l := listOf("Conditions of the resource.", map[string]any{
		"type": "object", "description": "A Condition that may apply to a resource.",
		"required": []string{"lastTransitionTime", "reason", "status", "type"},
		"properties": map[string]any{
			"lastTransitionTime": map[string]any{"type": "string", "format": "date-time", "description": "LastTransitionTime is the last time this condition transitioned from one status to another."},
			"message":            described("string", "A Message containing details about this condition's last transition from one status to another, if any."),
			"observedGeneration": map[string]any{"type": "integer", "format": "int64"}, "reason": described("string", "A Reason for this condition's last transition from one status to another."),
			"status": described("string", "Status of this condition; is it currently True, False, or Unknown?"), "type": described("string", "Type of this condition. At most one of each condition type may apply to a resource at any point in time."),
		},
	})
	l["x-kubernetes-list-type"], l["x-kubernetes-list-map-keys"] = "map", []string{"type"}
	return l
}
