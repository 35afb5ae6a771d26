package attacks

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Bodies with hundreds of thousands of fields that are unknown or there twice, and lists of equal entries. The
// attacker would have the server send a multiple of what it received.
func manyWrongFields(t *testing.T, s *target) {
	const configMaps, toils = "/api/v1/namespaces/default/configmaps", "/apis/work.example.com/v1/toils"
	s.apply(definitionWith(`{"type":"object","properties":{"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}`))
	defer s.Kubectl(t, "delete", "crd/toils.work.example.com")
	s.Kubectl(t, "wait", "--for=condition=Established", "crd/toils.work.example.com")
	const head = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"wrong"}`
	const toil = `{"apiVersion":"work.example.com/v1","kind":"Toil","metadata":{"name":"wrong"}`
	var fields strings.Builder
	for i := range 80_000 {
		fmt.Fprintf(&fields, `,"k%d":"b"`, i)
	}
	same := `,"set":[` + strings.Repeat(`"a",`, 300_000) + `"a"]}`
	for _, kind := range []string{"application/json", "application/yaml"} {
		s.as("mallory").bounded(10*time.Second, "POST", configMaps+"?fieldValidation=Strict",
			head+`,"data":{`+fields.String()[1:]+fields.String()+`}}`, "Content-Type", kind)
		s.as("mallory").bounded(10*time.Second, "POST", configMaps+"?fieldValidation=Strict",
			head+fields.String()+`}`, "Content-Type", kind)
		s.as("").bounded(10*time.Second, "POST", toils+"?fieldValidation=Strict", toil+fields.String()+`}`, "Content-Type", kind)
	}
	s.as("").bounded(10*time.Second, "POST", toils, toil+same, "Content-Type", "application/json")
	if code, answer := s.as("").do("PATCH", toils+"/wrong?fieldManager=m", toil+same, "Content-Type",
		"application/apply-patch+yaml"); code != 500 || len(answer) > 1<<20 {
		t.Errorf("apply of equal entries: %d with %d bytes", code, len(answer))
	}
}

// Regular expressions of thousands of states for a long text: the pattern of a field, and in a rule. The attacker
// would have the server search for minutes after the client has left.
func longPatterns(t *testing.T, s *target) {
	states := strings.Repeat("(a?){500}", 20) + "$b"
	s.apply(definitionWith(`{"type":"object","properties":{"a":{"type":"string","pattern":"` + states + `"},"b":{"type":"string"}},
"x-kubernetes-validations":[{"rule":"!has(self.b) || self.b.matches('` + states + `')"}]}`))
	defer s.Kubectl(t, "delete", "crd/toils.work.example.com")
	s.Kubectl(t, "wait", "--for=condition=Established", "crd/toils.work.example.com")
	for _, field := range []string{"a", "b"} {
		s.leave("POST", "/apis/work.example.com/v1/toils",
			`{"apiVersion":"work.example.com/v1","kind":"Toil","metadata":{"name":"t"},"`+field+`":"`+strings.Repeat("a", 2<<20)+`"}`, 2*time.Second)
	}
	s.settles("searches whose clients left")
}

// Policies of 20,000 variables that are changed again and again. The attacker, who may write policies, would fill
// the memory with compiled expressions.
func manyVariables(t *testing.T, s *target) {
	var variables, sum strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&variables, `,{"name":"v%d","expression":"1"}`, i)
	}
	for i := range 4_000 {
		fmt.Fprintf(&sum, " + variables.v%d", i)
	}
	const group = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
	policy := strings.Replace(policyOf("variables.v0 == 1 || "+sum.String()[3:]+" > 0"), `"validations"`,
		`"variables":[`+variables.String()[1:]+`],"validations"`, 1)
	if code, answer := s.as("").do("POST", group, policy, "Content-Type", "application/json"); code != 201 {
		t.Fatalf("%d %.300s", code, answer)
	}
	defer s.Kubectl(t, "delete", "validatingadmissionpolicy/toil", "validatingadmissionpolicybinding/toil")
	s.apply("apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: toil}\nspec: {policyName: toil, validationActions: [Warn]}\n")
	for i := range 5 {
		for _, change := range []string{`{"metadata":{"labels":{"a":"%d"}}}`, `{"spec":{"validations":[{"expression":"variables.v0 == %d"}]}}`} {
			if code, answer := s.as("").do("PATCH", group+"/toil", fmt.Sprintf(change, i)); code != 200 {
				t.Errorf("%d %.300s", code, answer)
			}
		}
	}
	if rss, err := s.ResidentBytes(); err != nil || rss > 1<<30 {
		t.Errorf("the server has %d MB, %v", rss>>20, err)
	}
}
