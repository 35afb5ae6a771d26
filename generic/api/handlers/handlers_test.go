package handlers

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/storage/wire"
)

const (
	mergePatch = "application/merge-patch+json"
	applyPatch = "application/apply-patch+yaml"
)

func TestRequests(t *testing.T) {
	tests := []struct {
		name         string
		method, path string
		body         string
		headers      []string
		code         int
		contains     string
		warnings     []string
	}{
		{name: "get writes the stored bytes and a newline", method: "GET", path: "/configmaps/a", code: 200,
			contains: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","uid":"uid-a","resourceVersion":"1"},"data":{"k":"v"}}` + "\n"},
		{name: "missing", method: "GET", path: "/configmaps/z", code: 404,
			contains: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"z\" not found","reason":"NotFound","details":{"name":"z","kind":"configmaps"},"code":404}` + "\n"},
		{name: "export", method: "GET", path: "/configmaps/a?export=true", code: 400, contains: "the export parameter, deprecated since v1.14"},
		{name: "yaml", method: "GET", path: "/configmaps/a", headers: []string{"Accept", "application/yaml"}, code: 200, contains: "apiVersion: v1\ndata:\n  k: v\n"},
		{name: "pretty", method: "GET", path: "/configmaps/a?pretty=1", code: 200, contains: "{\n  \"kind\": \"ConfigMap\",\n"},
		{name: "metadata", method: "GET", path: "/configmaps/a", headers: []string{"Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}, code: 200,
			contains: `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"`},
		{name: "not acceptable is answered in JSON", method: "GET", path: "/configmaps/a", headers: []string{"Accept", "text/csv"}, code: 406,
			contains: "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"},
		{name: "list is an envelope around items without kind", method: "GET", path: "/configmaps", code: 200,
			contains: `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"2"},"items":[{"metadata":{"name":"a","namespace":"ns","uid":"uid-a","resourceVersion":"1"},"data":{"k":"v"}},{"metadata":{"name":"b"`},
		{name: "table without objects", method: "GET", path: "/configmaps?includeObject=None", headers: []string{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}, code: 200,
			contains: `"rows":[{"cells":["a"],"object":null},{"cells":["b"],"object":null}]`},
		{name: "table of nonsense", method: "GET", path: "/configmaps?includeObject=x", headers: []string{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}, code: 400,
			contains: "Unable to convert to Table as requested: includeObject"},
		{name: "limit", method: "GET", path: "/configmaps?limit=x", code: 400, contains: `strconv.ParseInt: parsing \"x\": invalid syntax`},
		{name: "match without version", method: "GET", path: "/configmaps?resourceVersionMatch=Exact", code: 422, contains: "resourceVersionMatch is forbidden unless resourceVersion is provided"},
		{name: "name and another selector", method: "GET", path: "/configmaps/a?fieldSelector=metadata.name%3Db&list", code: 200},

		{name: "create", method: "POST", path: "/configmaps", body: `{"metadata":{"name":"n","uid":"mine"},"data":{"k":"v"}}`, code: 201, contains: `"manager":"test"`},
		{name: "create in another namespace", method: "POST", path: "/configmaps", body: `{"metadata":{"name":"n","namespace":"other"}}`, code: 400,
			contains: "the namespace of the provided object does not match the namespace sent on the request"},
		{name: "malformed", method: "POST", path: "/configmaps", body: `{"kind":`, code: 400, contains: "couldn't get version/kind; json parse error: unexpected end of JSON input"},
		{name: "another kind", method: "POST", path: "/configmaps", body: `{"apiVersion":"v1","kind":"Secret"}`, code: 400,
			contains: `Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion`},
		{name: "unknown kind", method: "POST", path: "/configmaps", body: `{"apiVersion":"v1","kind":"Foo"}`, code: 400,
			contains: `no kind \"Foo\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\"`},
		{name: "media type of the body", method: "POST", path: "/configmaps", body: `x`, headers: []string{"Content-Type", "text/plain"}, code: 415, contains: "the body of the request was in an unknown format"},
		{name: "too large", method: "POST", path: "/configmaps", body: `{"data":{"k":"` + strings.Repeat("x", 2000) + `"}}`, code: 413, contains: "Request entity too large: limit is 1000"},
		{name: "unknown fields warn", method: "POST", path: "/configmaps", body: `{"metadata":{"name":"n"},"x":1,"data":{"k":"1","k":"2"}}`, code: 201,
			warnings: []string{`unknown field "x"`, `duplicate field "data.k"`}},
		{name: "or are refused", method: "POST", path: "/configmaps?fieldValidation=Strict", body: `{"metadata":{"name":"n"},"x":1}`, code: 400, contains: `strict decoding error: unknown field \"x\"`},
		{name: "or are ignored", method: "POST", path: "/configmaps?fieldValidation=Ignore", body: `{"metadata":{"name":"n"},"x":1}`, code: 201},
		{name: "owners that are there twice", method: "POST", path: "/configmaps", code: 201,
			body:     `{"metadata":{"name":"n","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"},{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}}`,
			warnings: []string{".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u"}},

		{name: "update", method: "PUT", path: "/configmaps/a", body: `{"metadata":{"name":"a"},"data":{"k":"w"}}`, code: 200, contains: `"data":{"k":"w"}`},
		{name: "update of another name", method: "PUT", path: "/configmaps/a", body: `{"metadata":{"name":"b"}}`, code: 400, contains: "the name of the object (b) does not match the name on the URL (a)"},
		{name: "update without a name", method: "PUT", path: "/configmaps/a", body: `{}`, code: 400, contains: "was undeterminable: name must be provided"},
		{name: "merge patch", method: "PATCH", path: "/configmaps/a", body: `{"data":{"l":"1"}}`, headers: []string{"Content-Type", mergePatch}, code: 200, contains: `"data":{"k":"v","l":"1"}`},
		{name: "merge patch to another name", method: "PATCH", path: "/configmaps/a", body: `{"metadata":{"name":"x"}}`, headers: []string{"Content-Type", mergePatch}, code: 400, contains: "does not match the name on the URL"},
		{name: "merge patch with unknown fields", method: "PATCH", path: "/configmaps/a", body: `{"zeta":1,"alpha":2}`, headers: []string{"Content-Type", mergePatch}, code: 200,
			warnings: []string{`unknown field "alpha"`, `unknown field "zeta"`}},
		{name: "merge patch of a wrong type", method: "PATCH", path: "/configmaps/a", body: `{"data":1}`, headers: []string{"Content-Type", mergePatch}, code: 422, contains: "patch: Invalid value"},
		{name: "merge patch that is an array", method: "PATCH", path: "/configmaps/a", body: `[]`, headers: []string{"Content-Type", mergePatch}, code: 400,
			contains: "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"},
		{name: "options before the body", method: "PATCH", path: "/configmaps/none?force=true", body: `{"`,
			headers: []string{"Content-Type", "application/merge-patch+json"}, code: 422,
			contains: "may not be specified for non-apply patch"},
		{name: "JSON patch that is no JSON", method: "PATCH", path: "/configmaps/none", body: `[{"op"`, headers: []string{"Content-Type", "application/json-patch+json"}, code: 400, contains: "invalid JSON patch"},
		{name: "JSON patch", method: "PATCH", path: "/configmaps/a", body: `[{"op":"add","path":"/data/l","value":"1"}]`, headers: []string{"Content-Type", "application/json-patch+json"}, code: 200, contains: `"l":"1"`},
		{name: "JSON patch that fails its test", method: "PATCH", path: "/configmaps/a", body: `[{"op":"test","path":"/data/k","value":"1"}]`, headers: []string{"Content-Type", "application/json-patch+json"}, code: 422,
			contains: "the server rejected our request due to an error in our request"},
		{name: "strategic merge patch", method: "PATCH", path: "/configmaps/a", body: `{"data":{"$patch":"replace","x":"1"}}`, headers: []string{"Content-Type", "application/strategic-merge-patch+json"}, code: 200, contains: `"data":{"x":"1"}`},
		{name: "no patch type", method: "PATCH", path: "/configmaps/a", body: `{}`, headers: []string{"Content-Type", "application/json"}, code: 415},
		{name: "apply", method: "PATCH", path: "/configmaps/a?fieldManager=m", body: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {l: x}\n", headers: []string{"Content-Type", applyPatch}, code: 200, contains: `"operation":"Apply"`},
		{name: "apply creates", method: "PATCH", path: "/configmaps/new?fieldManager=m", body: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n", headers: []string{"Content-Type", applyPatch}, code: 201},
		{name: "apply of no YAML", method: "PATCH", path: "/configmaps/a?fieldManager=m", body: "a: b: c", headers: []string{"Content-Type", applyPatch}, code: 400, contains: "error encoding patch: yaml: mapping values are not allowed in this context"},
		{name: "apply without manager", method: "PATCH", path: "/configmaps/a", body: "{}", headers: []string{"Content-Type", applyPatch}, code: 422, contains: "fieldManager: Required value: is required for apply patch"},
		{name: "apply of another version", method: "PATCH", path: "/configmaps/a?fieldManager=m", body: "apiVersion: v2\nkind: ConfigMap\n", headers: []string{"Content-Type", applyPatch}, code: 400},
		{name: "force is for apply", method: "PATCH", path: "/configmaps/a?force=true", body: "{}", headers: []string{"Content-Type", mergePatch}, code: 422, contains: "force: Forbidden: may not be specified for non-apply patch"},
		{name: "delete", method: "DELETE", path: "/configmaps/a", code: 200, contains: `"status":"Success","details":{"name":"a","kind":"ConfigMap"}`},
		{name: "delete in the old way", method: "DELETE", path: "/configmaps/a?orphanDependents=false", code: 202},
		{name: "delete with a wrong policy", method: "DELETE", path: "/configmaps/a", body: `{"propagationPolicy":"Never"}`, code: 422, contains: "propagationPolicy: Unsupported value"},
		{name: "delete with another kind", method: "DELETE", path: "/configmaps/a", body: `{"apiVersion":"v1","kind":"Foo"}`, code: 400, contains: "pkg/runtime/scheme.go:111"},
		{name: "delete with an array", method: "DELETE", path: "/configmaps/a", body: `[]`, code: 400, contains: "couldn't get version/kind"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScope(t)
			s.MaxRequestBodyBytes = 1000
			newFake(s, "a", "b")
			s.Table = showTable
			got := call(dispatch(s), tt.method, tt.path, tt.body, tt.headers...)
			body := got.Body.String()
			if got.Code != tt.code {
				t.Fatalf("code %d, want %d: %s", got.Code, tt.code, body)
			}
			if !strings.Contains(body, tt.contains) {
				t.Errorf("%s\nlacks %s", body, tt.contains)
			}
			if w := got.Header().Values("Warning"); tt.warnings != nil && !slices.Equal(w, tt.warnings) {
				t.Errorf("warnings %q, want %q", w, tt.warnings)
			}
		})
	}
}

// dispatch picks the handler as routes would.
func dispatch(s *RequestScope) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		named := strings.Count(strings.Trim(r.URL.Path, "/"), "/") > 0
		switch {
		case r.Method == http.MethodGet && named:
			Get(s)(w, r)
		case r.Method == http.MethodGet:
			List(s)(w, r)
		case r.Method == http.MethodPost:
			Create(s)(w, r)
		case r.Method == http.MethodPut:
			Update(s)(w, r)
		case r.Method == http.MethodPatch:
			Patch(s)(w, r)
		default:
			Delete(s)(w, r)
		}
	}
}

// The library merges lists in the square of their lengths.
func TestStrategicPatchLimits(t *testing.T) {
	s := newScope(t)
	newFake(s, "a")
	patch := func(finalizers int) (int, string) {
		body := `{"metadata":{"finalizers":["a/b"` + strings.Repeat(`,"a/b"`, finalizers-1) + `]}}`
		w := call(Patch(s), "PATCH", "/configmaps/a", body, "Content-Type", "application/strategic-merge-patch+json")
		return w.Code, w.Body.String()
	}
	if code, b := patch(10); code != 200 {
		t.Errorf("%d %s", code, b)
	}
	if code, b := patch(10001); code != 413 || !strings.Contains(b, "the lists of the patch have 10001 elements and those of the object 10") {
		t.Errorf("%d %s", code, b)
	}
}

func TestJSONPatchLimits(t *testing.T) {
	s := newScope(t)
	newFake(s, "a")
	patch := func(ops string) (int, string) {
		w := call(Patch(s), "PATCH", "/configmaps/a", ops, "Content-Type", "application/json-patch+json")
		return w.Code, w.Body.String()
	}
	many := "[" + strings.Repeat(`{"op":"test","path":"/data/k","value":"v"},`, maxJSONPatchOperations) + `{"op":"test","path":"/data/k","value":"v"}]`
	if code, b := patch(many); code != 413 || !strings.Contains(b, "The allowed maximum operations in a JSON patch is 10000, got 10001") {
		t.Errorf("%d %s", code, b)
	}
	doubling := "[" + strings.Repeat(`{"op":"copy","from":"/data","path":"/data/c"},`, 30) + `{"op":"copy","from":"/data","path":"/data/c"}]`
	if code, b := patch(doubling); code != 422 {
		t.Errorf("%d %.300s", code, b)
	}
}

// The Store retries writes that another one has outrun. A conflict that it returns is final, so webhooks are called
// once.
func TestPatchConflictIsFinal(t *testing.T) {
	s := newScope(t)
	f := newFake(s, "a")
	f.conflict = true
	if got := call(Patch(s), "PATCH", "/configmaps/a", `{"data":{"x":"y"}}`, "Content-Type", mergePatch); got.Code != 409 {
		t.Errorf("code %d", got.Code)
	}
	if f.updates != 1 {
		t.Errorf("%d updates", f.updates)
	}
}

func TestApplyConflict(t *testing.T) {
	s := newScope(t)
	newFake(s)
	body := func(v string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: " + v + "}\n"
	}
	apply := func(query, v string) (int, string) {
		w := call(Patch(s), "PATCH", "/configmaps/a?"+query, body(v), "Content-Type", applyPatch)
		return w.Code, w.Body.String()
	}
	if code, b := apply("fieldManager=one", "x"); code != 201 {
		t.Fatalf("%d %s", code, b)
	}
	if code, b := apply("fieldManager=two", "z"); code != 409 || !strings.Contains(b, `Apply failed with 1 conflict: conflict with \"one\": .data.k`) {
		t.Fatalf("%d %s", code, b)
	}
	if code, b := apply("fieldManager=two&force=true", "z"); code != 200 || !strings.Contains(b, `"data":{"k":"z"}`) {
		t.Fatalf("%d %s", code, b)
	}
}

type refuses struct{ asked int }

func (a *refuses) Authorize(_ context.Context, _ *authorizer.Attributes) (authorizer.Decision, string, error) {
	a.asked++
	return authorizer.NoOpinion, "", nil
}

func TestApplyThatCreatesNeedsCreate(t *testing.T) {
	s := newScope(t)
	a := &refuses{}
	s.Authorizer = a
	newFake(s, "a")
	body := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n"
	got := call(Patch(s), "PATCH", "/configmaps/new?fieldManager=m", body, "Content-Type", applyPatch)
	want := `configmaps \"new\" is forbidden: User \"alice\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"ns\"`
	if got.Code != 403 || !strings.Contains(got.Body.String(), want) || a.asked != 1 {
		t.Errorf("code %d, asked %d: %s", got.Code, a.asked, got.Body)
	}
	if got := call(Update(s), "PUT", "/configmaps/a", `{"metadata":{"name":"a"}}`); got.Code != 200 || a.asked != 1 {
		t.Errorf("an update of what exists: code %d, asked %d", got.Code, a.asked)
	}
}

// The list that is put together on the wire level is what the Go type encodes.
func TestProtobufList(t *testing.T) {
	s := newScope(t)
	newFake(s, "a", "b")
	got := call(List(s), "GET", "/configmaps", "", "Accept", "application/vnd.kubernetes.protobuf")
	b := got.Body.Bytes()
	if string(b[:4]) != "k8s\x00" || got.Header().Get("Content-Type") != "application/vnd.kubernetes.protobuf" {
		t.Fatalf("%q %v", b, got.Header())
	}
	var u runtime.Unknown
	var list corev1.ConfigMapList
	if err := u.Unmarshal(b[4:]); err != nil {
		t.Fatal(err)
	}
	if err := list.Unmarshal(u.Raw); err != nil {
		t.Fatal(err)
	}
	if u.Kind != "ConfigMapList" || len(list.Items) != 2 || list.Items[1].Name != "b" || list.ResourceVersion != "2" {
		t.Fatalf("%+v %+v", u.TypeMeta, list)
	}
	list.TypeMeta = metav1.TypeMeta{Kind: "ConfigMapList", APIVersion: "v1"}
	whole, err := wire.Marshal(&list, wire.Protobuf)
	if err != nil || string(whole) != string(b) {
		t.Errorf("%v\n%q\n%q", err, b, whole)
	}
}

// In protobuf a list of metadata is what clients of its version decode.
func TestProtobufMetadataList(t *testing.T) {
	for version, list := range map[string]interface {
		runtime.Object
		metav1.ListInterface
		Unmarshal([]byte) error
	}{
		"v1": &metav1.PartialObjectMetadataList{}, "v1beta1": &metav1beta1.PartialObjectMetadataList{},
	} {
		s := newScope(t)
		newFake(s, "a", "b")
		got := call(List(s), "GET", "/configmaps", "", "Accept", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v="+version)
		var u runtime.Unknown
		if err := u.Unmarshal(got.Body.Bytes()[4:]); err != nil {
			t.Fatal(err)
		}
		if err := list.Unmarshal(u.Raw); err != nil {
			t.Fatal(err)
		}
		if u.APIVersion != "meta.k8s.io/"+version || list.GetResourceVersion() != "2" || meta.LenList(list) != 2 {
			t.Errorf("%s: %+v %+v", version, u.TypeMeta, list)
		}
	}
}

func TestLargeAnswersAreCompressed(t *testing.T) {
	s := newScope(t)
	f := newFake(s, "a")
	f.objects["a"].Data["k"] = strings.Repeat("x", 128<<10)
	for _, path := range []string{"/configmaps/a", "/configmaps"} {
		got := call(dispatch(s), "GET", path, "", "Accept-Encoding", "br, gzip")
		if got.Header().Get("Content-Encoding") != "gzip" || got.Header().Get("Vary") != "Accept-Encoding" {
			t.Fatalf("%s: %v", path, got.Header())
		}
		z, err := gzip.NewReader(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(z)
		if err != nil || !json.Valid(b) {
			t.Errorf("%s: %v, %d bytes", path, err, len(b))
		}
	}
}

// An object that is ready after the deadline is not sent, as there may be no time to.
func TestAnswersAfterTheDeadline(t *testing.T) {
	s := newScope(t)
	newFake(s, "a")
	w := call(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithDeadline(r.Context(), time.Unix(1, 0))
		defer cancel()
		Get(s)(w, r.WithContext(ctx))
	}, "GET", "/configmaps/a", "")
	if w.Code != http.StatusGatewayTimeout {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
