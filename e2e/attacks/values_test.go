package attacks

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Custom resources, and a ConfigMap, of half as many values as fit into a body. The attacker, who may write one kind,
// would have the server compare each error, each entry of a list, and each field with all others, for minutes
// beyond the deadline of the request. {} stands for a hundred defaults.
func manyValues(t *testing.T, s *target) {
	var defaults strings.Builder
	for i := range 100 {
		fmt.Fprintf(&defaults, `,"f%d":{"type":"string","default":"x"}`, i)
	}
	s.apply(definitionWith(`{"type":"object","properties":{"spec":{"type":"object","properties":{
"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"integer"}},
"map":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["n"],"items":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}},
"fields":{"type":"object","additionalProperties":{"type":"integer"}},
"texts":{"type":"array","items":{"type":"string"}},
"either":{"type":"array","anyOf":[{"items":{"maximum":-1}},{"items":{"maximum":-2}}],"items":{"type":"integer"}},
"defaults":{"type":"array","items":{"type":"object","properties":{` + defaults.String()[1:] + `}}}}}}}`))
	defer s.Kubectl(t, "delete", "crd/toils.work.example.com")
	s.Kubectl(t, "wait", "--for=condition=Established", "crd/toils.work.example.com")
	s.apply(`{"apiVersion":"work.example.com/v1","kind":"Toil","metadata":{"name":"t"},"spec":{}}`)

	const toils, configMaps = "/apis/work.example.com/v1/toils", "/api/v1/namespaces/default/configmaps"
	for name, value := range map[string]string{
		"set": valuesOf("[]", 85_000, "%d"), "map": valuesOf("[]", 50_000, `{"n":%d}`),
		"fields": valuesOf("{}", 85_000, `"k%d":1`),
		"texts":  valuesOf("[]", 150_000, "%d"), "either": valuesOf("[]", 150_000, "%d"),
		"defaults": "[" + strings.Repeat("{},", 450_000) + "{}]",
	} {
		spec := `"spec":{"` + name + `":` + value + `}`
		toil := `{"apiVersion":"work.example.com/v1","kind":"Toil","metadata":{"name":"%s"},` + spec + `}`
		s.inTime("POST", toils, "application/json", fmt.Sprintf(toil, "new"))
		s.inTime("PATCH", toils+"/t", "application/merge-patch+json", "{"+spec+"}")
		s.inTime("PATCH", toils+"/t", "application/apply-patch+yaml", fmt.Sprintf(toil, "t"))
	}
	data := `"data":` + valuesOf("{}", 85_000, `"k%d":""`)
	s.inTime("POST", configMaps, "application/json", `{"metadata":{"name":"many"},`+data+`}`)
	s.inTime("PATCH", configMaps+"/many", "application/apply-patch+yaml", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"many"},`+data+`}`)
	var fields strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&fields, `,"f:k%d":{}`, 100_000-i)
	}
	s.inTime("POST", configMaps, "application/json", `{"metadata":{"name":"owned","managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1",
"fieldsType":"FieldsV1","fieldsV1":{"f:data":{`+fields.String()[1:]+`}}}]}}`)
	s.settles("objects of many values")
}

// valuesOf is a list or a map of n numbered values in no order.
func valuesOf(brackets string, n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ","+format, (n-i)*7919%1_000_003)
	}
	return brackets[:1] + b.String()[1:] + brackets[1:]
}

// inTime sends a request that has a second. The server works little longer, whatever runs beside it.
func (s *target) inTime(method, path, kind, body string) {
	s.t.Helper()
	query := "?dryRun=All&timeout=1s&fieldManager=m"
	if kind == "application/apply-patch+yaml" {
		query += "&force=true" // which others may not have
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.Config.Host+path+query, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	before := s.CPU(s.t)
	if resp, err := s.admin.Do(r); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	if took := s.CPU(s.t) - before; took > 10*time.Second {
		s.t.Errorf("%s %s of %.100s took %v of the processors", method, path, body, took)
	}
	if rss, err := s.ResidentBytes(); err != nil || rss > 2<<30 {
		s.t.Errorf("the server has %d MB, %v", rss>>20, err)
	}
}
