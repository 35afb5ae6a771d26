// The two sample API servers, Kubernetes' and that of package apiserver, give the same responses.

package extensions

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"triplane.dev/e2e/harness"
)

// sampleSite is an extension API server behind an API server of its own.
type sampleSite struct {
	core   *harness.Server
	port   int
	client *http.Client
	token  string // of the service account wardle/reader
}

const wardleSite = wardle + `---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.wardle.example.com}
spec:
  group: wardle.example.com
  version: v1beta1
  groupPriorityMinimum: 1000
  versionPriority: 20
  insecureSkipTLSVerify: true
  service: {name: api, namespace: wardle, port: %[1]d}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: wardle}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: wardle}
rules:
- {apiGroups: [wardle.example.com], resources: [flunders], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: wardle}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: ServiceAccount, name: reader, namespace: wardle}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: flunders}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [wardle.example.com], apiVersions: [v1beta1], resources: [flunders], operations: [CREATE]}
  validations:
  - {expression: "object.metadata.name != 'unwanted'", message: unwanted}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: flunders}
spec: {policyName: flunders, validationActions: [Deny]}
`

// startSite starts a sample API server, Kubernetes' or our own, and registers it with an API server in front of it.
func startSite(t *testing.T, theirs bool) *sampleSite {
	t.Helper()
	s := &sampleSite{core: harness.Start(t), port: harness.FreePort(t)}
	s.core.KubectlIn(t, fmt.Sprintf(wardleSite, s.port), "apply", "-f", "-")
	startSample(t, s.core, s.port, theirs)
	s.core.Kubectl(t, "wait", "--for=condition=Available", "apiservice/v1alpha1.wardle.example.com",
		"apiservice/v1beta1.wardle.example.com", "--timeout=60s")
	var err error
	if s.client, err = rest.HTTPClientFor(s.core.Config); err != nil {
		t.Fatal(err)
	}
	review, err := kubernetes.NewForConfigOrDie(s.core.Config).CoreV1().ServiceAccounts("wardle").
		CreateToken(t.Context(), "reader", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.token = review.Status.Token
	return s
}

// call is a request, or what else is done between two.
type call struct {
	request string // method, path and accepted types
	body    string // YAML is JSON enough: all bodies are JSON
	as      string // who asks: "" is the administrator through the front, "reader" and others ask the server directly
	until   string // repeats the request until the answer has this
	// better is how our answer begins where the other server takes what makes no sense.
	better string
}

// answer is what a client sees of a call, with what differs from run to run taken out.
func (s *sampleSite) answer(t *testing.T, c call) string {
	t.Helper()
	words := strings.Fields(c.request)
	url, client := s.core.Config.Host+words[1], s.client
	if c.as != "" {
		url = fmt.Sprintf("https://127.0.0.1:%d%s", s.port, words[1])
		client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // its certificate is its own
		defer client.CloseIdleConnections()
	}
	r, err := http.NewRequestWithContext(t.Context(), words[0], url, strings.NewReader(c.body))
	if err != nil {
		t.Error(err)
		return ""
	}
	r.Header.Set("User-Agent", "test")
	r.Header.Set("Content-Type", "application/json")
	switch {
	case words[0] == "PATCH" && len(words) > 2:
		r.Header.Set("Content-Type", words[2])
	case len(words) > 2:
		r.Header.Set("Accept", strings.Join(words[2:], " "))
	}
	switch c.as {
	case "", "nobody":
	case "reader":
		r.Header.Set("Authorization", "Bearer "+s.token)
	default:
		r.Header.Set("Authorization", "Bearer "+c.as)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return fmt.Sprintf("%d %s %q\n%s", resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header["Warning"],
		normalized(body))
}

var differs = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[0-9:]+Z| in scheme \\"[^"]*"|"e-[a-z0-9]{5}\\?"|\\"e-[a-z0-9]{5}`)

// normalized has one line for each JSON value of a body, without what differs from run to run.
func normalized(body []byte) string {
	var out strings.Builder
	for d := json.NewDecoder(bytes.NewReader(body)); ; {
		var v any
		if err := d.Decode(&v); err != nil {
			if !errors.Is(err, io.EOF) {
				out.WriteString(string(body))
			}
			break
		}
		plain(v)
		line, _ := json.Marshal(v)
		out.Write(line)
		out.WriteString("\n")
	}
	return differs.ReplaceAllString(out.String(), "…")
}

// plain takes resource versions and what comes of them out of a value.
func plain(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range []string{"resourceVersion", "continue"} {
			if _, ok := v[k].(string); ok {
				v[k] = "…"
			}
		}
		delete(v, "description") // of a schema or a column
		for _, each := range v {
			plain(each)
		}
	case []any:
		for _, each := range v {
			plain(each)
		}
	}
}

func post(path, body string) call { return call{request: "POST " + path, body: body} }

func get(path string, accept ...string) call {
	return call{request: strings.Join(append([]string{"GET", path}, accept...), " ")}
}

func patch(path, kind, body string) call {
	return call{request: "PATCH " + path + " application/" + kind, body: body}
}

const (
	oldWardle   = "/apis/wardle.example.com/v1alpha1"
	newWardle   = "/apis/wardle.example.com/v1beta1"
	oldFlunders = oldWardle + "/namespaces/wardle/flunders"
	newFlunders = newWardle + "/namespaces/wardle/flunders"
	asTable     = "application/json;as=Table;v=v1;g=meta.k8s.io"
	asPartial   = "application/json;as=PartialObjectMetadata%s;v=v1;g=meta.k8s.io"
)

// wardleCalls are asked in this order.
var wardleCalls = []call{
	get("/apis/wardle.example.com"), get(oldWardle), get(newWardle),
	// Conversion, defaults and validation.
	post(oldFlunders, `{"metadata":{"name":"a","labels":{"x":"1"}},"spec":{"reference":"other","referenceType":"Flunder"}}`),
	post(oldFlunders, `{"metadata":{"name":"b","labels":{"x":"2"}},"spec":{"reference":"fish","referenceType":"Fischer"}}`),
	post(oldFlunders, `{"metadata":{"name":"c"},"spec":{"reference":"fish"}}`),
	post(oldFlunders, `{"metadata":{"name":"Any_Name"}}`),
	post(newFlunders, `{"metadata":{"name":"d"},"spec":{"fischerReference":"f","referenceType":"Fischer"}}`),
	post(newFlunders, `{"metadata":{"generateName":"e-"},"spec":{"fischerReference":"f","referenceType":"Flunder"}}`),
	post(newFlunders, `{"metadata":{"name":"e"},"spec":{"flunderReference":"f"}}`),
	post(newFlunders, `{"metadata":{"name":"e"},"spec":{"referenceType":"Flunder"}}`),
	post(newFlunders, `{"metadata":{"name":"e"},"spec":{"referenceType":"Other"}}`),
	post(newFlunders, `{"metadata":{"name":"e"},"spec":{"referenceType":"Flunder","flunderReference":"f","fischerReference":"g"}}`),
	post(newFlunders, `{"metadata":{"name":"e"},"spec":{"flunderReference":true}}`),
	post(newFlunders+"?fieldValidation=Strict", `{"metadata":{"name":"e"},"spec":{"unknown":1}}`),
	post(newFlunders+"?dryRun=All", `{"metadata":{"name":"dry"}}`),
	// A type that v1alpha1 does not have is not dropped.
	{request: "POST " + oldFlunders + "?dryRun=All", body: `{"metadata":{"name":"e"},"spec":{"reference":"f","referenceType":"Other"}}`, better: "422"},
	post(newFlunders, `{"metadata":{"name":"a"}}`),
	post(newFlunders, `{"metadata":{"name":"e","namespace":"other"}}`),
	post(newFlunders, `{"kind":"Fischer","apiVersion":"wardle.example.com/v1beta1","metadata":{"name":"e"}}`),
	post(newFlunders, `{`),
	post(newWardle+"/namespaces/nowhere/flunders", `{"metadata":{"name":"e"}}`),
	get(newFlunders + "/a"), get(oldFlunders + "/a"), get(newFlunders + "/b"), get(oldFlunders + "/b"),
	get(newFlunders + "/c"), get(oldFlunders + "/d"), get(newFlunders + "/none"),
	// Lists and watches.
	get(oldFlunders), get(newFlunders), get(newWardle + "/flunders"), get(newFlunders + "?labelSelector=x%3D1"),
	get(newFlunders + "?labelSelector=%21x&limit=1"),
	get(newFlunders + "?fieldSelector=metadata.name%3Db"), get(newFlunders + "?fieldSelector=spec.none%3Db"),
	get(newFlunders, asTable), get(newFlunders+"/a", asTable), get(newFlunders, fmt.Sprintf(asPartial, "List")),
	get(newFlunders+"/a", fmt.Sprintf(asPartial, "")),
	get(newFlunders + "?watch=1&resourceVersion=0&timeoutSeconds=1&fieldSelector=metadata.name%3Da"),
	get(oldFlunders, "application/yaml"), get(oldFlunders, "text/plain"),
	// Updates and patches.
	{request: "PUT " + newFlunders + "/a", body: `{"metadata":{"name":"a"},"spec":{"flunderReference":"put","referenceType":"Flunder"}}`},
	{request: "PUT " + newFlunders + "/none", body: `{"metadata":{"name":"none","resourceVersion":"1"}}`},
	{request: "PUT " + newFlunders + "/a", body: `{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"flunderReference":"put","referenceType":"Flunder"}}`},
	patch(newFlunders+"/a", "merge-patch+json", `{"spec":{"flunderReference":"merged"}}`),
	patch(newFlunders+"/a", "json-patch+json", `[{"op":"replace","path":"/spec/flunderReference","value":"json"},{"op":"add","path":"/metadata/labels/y","value":"2"}]`),
	patch(oldFlunders+"/a", "strategic-merge-patch+json", `{"metadata":{"labels":{"y":null}},"spec":{"reference":"strategic"}}`),
	// Updates are validated, too.
	{request: "PATCH " + newFlunders + "/a?dryRun=All application/merge-patch+json",
		body: `{"spec":{"fischerReference":"both"}}`, better: "422"},
	patch(newFlunders+"/applied?fieldManager=one", "apply-patch+yaml", `{"apiVersion":"wardle.example.com/v1beta1","kind":"Flunder","metadata":{"name":"applied"},"spec":{"flunderReference":"x","referenceType":"Flunder"}}`),
	patch(newFlunders+"/applied?fieldManager=two", "apply-patch+yaml", `{"apiVersion":"wardle.example.com/v1beta1","kind":"Flunder","metadata":{"name":"applied"},"spec":{"flunderReference":"y","referenceType":"Flunder"}}`),
	patch(newFlunders+"/applied?fieldManager=two&force=true", "apply-patch+yaml", `{"apiVersion":"wardle.example.com/v1beta1","kind":"Flunder","metadata":{"name":"applied"},"spec":{"flunderReference":"y"}}`),
	get(oldFlunders + "/applied"),
	{request: "PUT " + newFlunders + "/a/status", body: `{"metadata":{"name":"a"}}`},
	// Fischers, and what they ban.
	post(oldWardle+"/fischers", `{"metadata":{"name":"one"},"disallowedFlunders":["banned"]}`),
	post(oldWardle+"/fischers", `{"metadata":{"name":"two"}}`), get(oldWardle + "/fischers"),
	get(oldWardle+"/fischers", asTable), get(newWardle + "/fischers"),
	{request: "POST " + newFlunders + "?dryRun=All", body: `{"metadata":{"name":"banned"}}`, until: "may not be used"},
	post(oldFlunders, `{"metadata":{"name":"banned"}}`),
	// The policies of the server in front.
	{request: "POST " + newFlunders + "?dryRun=All", body: `{"metadata":{"name":"unwanted"}}`, until: "unwanted"},
	// Who asks the server directly.
	{request: "GET /apis application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", as: "reader"},
	{request: "GET " + newFlunders, as: "nobody"}, {request: "GET /healthz", as: "nobody"},
	{request: "GET " + newFlunders, as: "made-up"},
	{request: "GET " + newFlunders + "/a", as: "reader"}, {request: "DELETE " + newFlunders + "/a", as: "reader"},
	{request: "GET " + oldWardle + "/fischers", as: "reader"},
	// Deletions.
	{request: "DELETE " + newFlunders + "/b"}, {request: "DELETE " + newFlunders + "/b"},
	{request: "DELETE " + oldFlunders + "/c?dryRun=All"},
	{request: "DELETE " + oldFlunders + "?labelSelector=x%3D1"}, {request: "DELETE " + oldFlunders}, get(oldFlunders),
	{request: "DELETE " + oldWardle + "/fischers/one"},
}

// TestSampleServersSideBySide asks the sample API server that is made with package apiserver what it
// asks that of Kubernetes. Each is behind an API server, and keeps objects in its own store.
func TestSampleServersSideBySide(t *testing.T) {
	if !*upstream {
		t.Skip("compares with Kubernetes' sample API server, which -args -upstream compiles (make test-others)")
	}
	theirs, ours := startSite(t, true), startSite(t, false)
	for _, c := range wardleCalls {
		if c.until != "" {
			for _, s := range []*sampleSite{theirs, ours} {
				harness.Eventually(t, func() error {
					if got := s.answer(t, c); !strings.Contains(got, c.until) {
						return fmt.Errorf("%s: %s", c.request, got)
					}
					return nil
				})
			}
		}
		var want, got string
		var both sync.WaitGroup
		both.Go(func() { want = theirs.answer(t, c) })
		both.Go(func() { got = ours.answer(t, c) })
		both.Wait()
		if c.better != "" && strings.HasPrefix(got, c.better) && !strings.HasPrefix(want, c.better) {
			continue
		}
		if got != want {
			t.Errorf("%s %s %s\nours:   %s\ntheirs: %s", c.as, c.request, c.body, got, want)
		}
	}
	for _, path := range []string{"/openapi/v3/apis/wardle.example.com/v1alpha1",
		"/openapi/v3/apis/wardle.example.com/v1beta1", "/openapi/v2"} {
		compareSchemas(t, theirs.answer(t, get(path)), ours.answer(t, get(path)))
	}
}

// modelName is the package of a Go type of the sample servers, in the name of a model.
var modelName = regexp.MustCompile(`[a-z0-9.-]+\.(v1alpha1|v1beta1)\.(Flunder|Fischer)`)

// compareSchemas compares what documents say of flunders and fischers.
func compareSchemas(t *testing.T, theirs, ours string) {
	t.Helper()
	schemas := func(doc string) map[string]string {
		_, body, _ := strings.Cut(doc, "\n")
		var d struct {
			Definitions map[string]any
			Components  struct{ Schemas map[string]any }
		}
		if err := json.Unmarshal([]byte(modelName.ReplaceAllString(body, "$1.$2")), &d); err != nil {
			t.Fatalf("%v: %.300s", err, doc)
		}
		out := map[string]string{}
		for _, all := range []map[string]any{d.Definitions, d.Components.Schemas} {
			for name, s := range all {
				if strings.Contains(name, "Flunder") || strings.Contains(name, "Fischer") {
					text, _ := json.Marshal(s)
					out[name] = string(text)
				}
			}
		}
		return out
	}
	want, got := schemas(theirs), schemas(ours)
	if len(want) == 0 {
		t.Fatal("there are no schemas")
	}
	for name, s := range want {
		if got[name] != s {
			t.Errorf("schema %s\nours:   %s\ntheirs: %s", name, got[name], s)
		}
	}
}
