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
		s.as("").bounded(10*time.Second, "POST", toils+"?fieldValidation=Strict", toil+fields.String()+`}`,
			"Content-Type", kind)
	}
	s.as("").bounded(10*time.Second, "POST", toils, toil+same, "Content-Type", "application/json")
	if code, answer := s.as("").do("PATCH", toils+"/wrong?fieldManager=m", toil+same, "Content-Type",
		"application/apply-patch+yaml"); code != 500 || len(answer) > 1<<20 {
		t.Errorf("apply of equal entries: %d with %d bytes", code, len(answer))
	}
}

// A pattern of thousands of states for a long text. The attacker would have the server search for minutes after the
// client has left.
func longPatterns(t *testing.T, s *target) {
	states := strings.Repeat("(a?){500}", 20) + "$b"
	s.apply(definitionWith(`{"type":"object","properties":{"a":{"type":"string","pattern":"` + states + `"}}}`))
	defer s.Kubectl(t, "delete", "crd/toils.work.example.com")
	s.Kubectl(t, "wait", "--for=condition=Established", "crd/toils.work.example.com")
	s.leave("POST", "/apis/work.example.com/v1/toils",
		`{"apiVersion":"work.example.com/v1","kind":"Toil","metadata":{"name":"t"},"a":"`+strings.Repeat("a", 2<<20)+`"}`, 2*time.Second)
	s.settles("searches whose clients left")
}
