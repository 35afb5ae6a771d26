package attacks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	admissionapi "k8s.io/api/admission/v1"
	"k8s.io/utils/ptr"
)

// settles requires that the server stops computing soon after the client has left.
func (s *target) settles(after string) {
	s.t.Helper()
	s.eventually("the processors are idle after "+after, 20*time.Second, func() bool {
		before := s.CPU(s.t)
		time.Sleep(time.Second)
		return s.CPU(s.t)-before < 400*time.Millisecond
	})
}

// bounded sends a request, which must fail within the processor time of the server, whatever runs beside it, and leave
// the memory bounded. The response quotes its errors twice.
func (a attacker) bounded(within time.Duration, method, path, body string, headers ...string) {
	a.s.t.Helper()
	before := a.s.CPU(a.s.t)
	code, answer := a.do(method, path, body, headers...)
	if took := a.s.CPU(a.s.t) - before; code < 400 || code >= 500 || len(answer) > 2<<20 || took > within {
		a.s.t.Errorf("%s %s of %v: %d with %d bytes after %v", method, path, headers, code, len(answer), took)
	}
	if rss, err := a.s.ResidentBytes(); err != nil || rss > 2<<30 {
		a.s.t.Errorf("the server has %d MB, %v", rss>>20, err)
	}
}

// Bodies and patches of 10,000 levels. The attacker, who may patch anything, would fill
// processors and memory: a decoded level costs its square.
func deepPatches(_ *testing.T, s *target) {
	s.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: deep, namespace: default}\n")
	const levels = 10_000
	const path = "/api/v1/namespaces/default/configmaps"
	deep := strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels)
	lists := strings.Repeat(`[`, levels) + strings.Repeat("]", levels)
	for kind, body := range map[string]string{
		"application/merge-patch+json":           `{"x":` + deep + `}`,
		"application/strategic-merge-patch+json": `{"x":` + deep + `}`,
		"application/json-patch+json":            `[{"op":"add","path":"/x","value":` + deep + `}]`,
		"application/apply-patch+yaml":           `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"x":` + deep + `}`,
	} {
		for _, body := range []string{body, strings.ReplaceAll(body, deep, lists)} {
			s.as("mallory").bounded(5*time.Second, "PATCH", path+"/deep?fieldManager=m&force=true", body,
				"Content-Type", kind)
		}
	}
	for _, kind := range []string{"application/json", "application/yaml"} {
		s.as("mallory").bounded(5*time.Second, "POST", path, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"},"x":`+deep+`}`, "Content-Type", kind)
	}
	// Operations that make levels out of nothing, each deeper than the one before.
	var grows strings.Builder
	for at := "/metadata/a"; grows.Len() < 3<<20-10_000; at += "/a" {
		fmt.Fprintf(&grows, `,{"op":"add","path":%q,"value":{}}`, at)
	}
	s.as("mallory").bounded(10*time.Second, "PATCH", path+"/deep", "["+grows.String()[1:]+"]", "Content-Type",
		"application/json-patch+json")
}

// A CustomResourceDefinition in protobuf whose schema is nested 520,000 levels deep. The
// attacker would end the process, which cannot recover from a stack that is used up.
func deepProtobuf(_ *testing.T, s *target) {
	var backwards []byte
	prefix := func(tag uint64) { // what is there becomes a message in the field
		head := varint(varint(nil, tag<<3|2), uint64(len(backwards)))
		slices.Reverse(head)
		backwards = append(backwards, head...)
	}
	for range 520_000 {
		prefix(28) // not
	}
	for _, tag := range []uint64{1, 4, 7, 2} { // openAPIV3Schema, schema, versions, spec
		prefix(tag)
	}
	prefix(2) // raw
	slices.Reverse(backwards)
	kind := append([]byte("\x0a\x17apiextensions.k8s.io/v1\x12\x18CustomResourceDefinition"), nil...)
	kind[1] = byte(len("apiextensions.k8s.io/v1"))
	body := "k8s\x00" + string(varint([]byte{0x0a}, uint64(len(kind)))) + string(kind) + string(backwards)
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	s.as("").bounded(5*time.Second, "POST", path, body, "Content-Type", "application/vnd.kubernetes.protobuf")
	if s.Ended(0) {
		s.t.Fatal("the server has ended")
	}
}

// varint appends a number as protobuf writes it.
func varint(to []byte, n uint64) []byte {
	for ; n >= 0x80; n >>= 7 {
		to = append(to, byte(n)|0x80)
	}
	return append(to, byte(n))
}

// Rules and policies whose expressions are as long as the parser reads them. The
// attacker, who may write policies, would have the server compile for minutes, and
// continue after the client has left.
func longExpressions(_ *testing.T, s *target) {
	const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
	for name, term := range map[string]string{
		"comparisons": "self.a == 1", "lists": "[] == []", "maps": "{} == {}", "macros": "[].all(x, true)",
		"conditions": "(true ? [] : []) == []",
	} {
		n := min(8000, 99_000/(len(term)+4))
		rule := strings.TrimSuffix(strings.Repeat(term+" && ", n), " && ")
		for path, body := range map[string]string{crds: definitionOf(rule),
			policies: policyOf(strings.ReplaceAll(rule, "self", "object"))} {
			begun := time.Now()
			code, answer := s.as("").do("POST", path+"?dryRun=All", body, "Content-Type", "application/json")
			if took := time.Since(begun); code >= 500 || took > 15*time.Second || len(answer) > 1<<20 {
				s.t.Errorf("%s to %s: %d with %d bytes after %v: %.300s", name, path, code, len(answer), took, answer)
			}
			s.leave("POST", path+"?dryRun=All", body, 300*time.Millisecond)
		}
	}
	// Many rules, of which each is cheap.
	rules := make([]string, 8000)
	for i := range rules {
		rules[i] = fmt.Sprintf("self.a == %d", i)
	}
	s.leave("POST", crds+"?dryRun=All", definitionOf(rules...), time.Second)
	s.settles("clients that left")
}

// leave sends a request whose client does not wait for its end.
func (s *target) leave(method, path, body string, after time.Duration) {
	ctx, cancel := context.WithTimeout(s.t.Context(), after)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.Config.Host+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if resp, err := s.admin.Do(r); err == nil {
		_ = resp.Body.Close()
	}
}

// quoted is a string in JSON.
func quoted(s string) string {
	b, _ := json.Marshal(s) // strings cannot fail
	return string(b)
}

// definitionOf is a CustomResourceDefinition with the rules at an object with the number a.
func definitionOf(rules ...string) string {
	var all strings.Builder
	for _, r := range rules {
		all.WriteString(`,{"rule":` + quoted(r) + `}`)
	}
	return definitionWith(`{"type":"object","properties":{"a":{"type":"integer"}},"x-kubernetes-validations":[` + all.String()[1:] + `]}`)
}

// definitionWith is a CustomResourceDefinition of a schema.
func definitionWith(schema string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"toils.work.example.com"},"spec":{
"group":"work.example.com","scope":"Cluster","names":{"plural":"toils","singular":"toil","kind":"Toil","listKind":"ToilList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":` + schema + `}}]}}`
}

func policyOf(expression string) string {
	return `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"toil"},"spec":{
"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]},
"validations":[{"expression":` + quoted(expression) + `}]}}`
}

// patchOfMoves is a JSON patch that makes a list of a million elements and puts
// thousands of others before them, one by one.
func patchOfMoves() string {
	return `[{"op":"add","path":"/metadata/x","value":[` + strings.Repeat("1,", 1_200_000) + `1]}` +
		strings.Repeat(`,{"op":"add","path":"/metadata/x/0","value":1}`, 9_990) + `]`
}

// A JSON patch whose operations each move a million elements, of a client and of a
// webhook. The attacker would have each take minutes, past the deadlines of requests
// and webhooks.
func patchOfInsertions(t *testing.T, s *target) {
	s.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: moved, namespace: default}\n")
	const path = "/api/v1/namespaces/default/configmaps"
	s.as("mallory").bounded(15*time.Second, "PATCH", path+"/moved", patchOfMoves(), "Content-Type",
		"application/json-patch+json")
	s.leave("PATCH", path+"/moved", patchOfMoves(), time.Second)
	s.settles("a patch whose client left")

	hook := listen(t, func(w http.ResponseWriter, r *http.Request) {
		var review admissionapi.AdmissionReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		review.Response = &admissionapi.AdmissionResponse{UID: review.Request.UID, Allowed: true,
			Patch: []byte(patchOfMoves()), PatchType: ptr.To(admissionapi.PatchTypeJSONPatch)}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&review)
	})
	s.apply(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: toiling}
webhooks:
- name: toiling.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  timeoutSeconds: 1
  clientConfig: {url: "` + hook.URL + `/", caBundle: ` + hook.authority() + `}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [podtemplates]}]
`)
	const template = "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: t}\ntemplate: {spec: {containers: [{name: c, image: i}]}}\n"
	s.eventually("the webhook is in force", generous, func() bool {
		begun := time.Now()
		code, _ := s.as("").do("POST", "/api/v1/namespaces/default/podtemplates?dryRun=All", template)
		if took := time.Since(begun); took > 8*time.Second {
			t.Errorf("the webhook's second lasted %v", took)
		}
		return hook.asked.Load() > 0 && code == http.StatusInternalServerError
	})
	s.Kubectl(t, "delete", "mutatingwebhookconfiguration", "toiling")
}

// Thousands of wrong values below a name of half a megabyte, in the schema of a
// CustomResourceDefinition and in an object. The attacker would fill the memory with
// their paths, of which each has the name.
func longPaths(t *testing.T, s *target) {
	const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	name := strings.Repeat("n", 500_000)
	var properties, values strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&properties, `,"p%d":{"type":"x"}`, i)
		fmt.Fprintf(&values, `,"p%d":"x"`, i)
	}
	schema := `{"type":"object","properties":{"` + name + `":{"type":"object","properties":{` + properties.String()[1:] + `}}}}`
	for _, kind := range []string{"application/json", "application/yaml"} {
		s.as("").bounded(5*time.Second, "POST", crds, definitionWith(schema), "Content-Type", kind)
	}
	s.apply(definitionWith(`{"type":"object","properties":{"spec":{"type":"object","additionalProperties":{"type":"object","additionalProperties":{"type":"integer"}}}}}`))
	defer s.Kubectl(t, "delete", "crd/toils.work.example.com")
	s.Kubectl(t, "wait", "--for=condition=Established", "crd/toils.work.example.com")
	const toils = "/apis/work.example.com/v1/toils"
	const toil = `{"apiVersion":"work.example.com/v1","kind":"Toil","metadata":{"name":"t"},"spec":{"x":{}`
	s.as("").bounded(10*time.Second, "POST", toils, toil+`,"`+name+`":{`+values.String()[1:]+`}}}`, "Content-Type",
		"application/json")
	s.apply(toil + "}}")
	s.as("").bounded(10*time.Second, "PATCH", toils+"/t", `{"spec":{"`+name+`":{`+values.String()[1:]+`}}}`)
	moves := `[{"op":"add","path":"/spec/x","value":{` + values.String()[1:] + `}},{"op":"move","from":"/spec/x","path":"/spec/` + name + `"}]`
	s.as("").bounded(10*time.Second, "PATCH", toils+"/t", moves, "Content-Type", "application/json-patch+json")
}
