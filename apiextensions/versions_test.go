package apiextensions

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// converter is a conversion webhook that calls a function.
type converter struct {
	*httptest.Server
	broken atomic.Bool
}

func newConverter(t *testing.T, convert func(u *unstructured.Unstructured, to string)) *converter {
	c := &converter{}
	c.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review apiextensionsv1.ConversionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || c.broken.Load() {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
		for _, raw := range review.Request.Objects {
			u := &unstructured.Unstructured{}
			if err := json.Unmarshal(raw.Raw, &u.Object); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			to := review.Request.DesiredAPIVersion
			convert(u, to[strings.LastIndex(to, "/")+1:])
			u.SetAPIVersion(to)
			response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Object: u})
		}
		review.Request, review.Response = nil, response
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(c.Close)
	return c
}

// serve starts a server with a definition of widgets, whose versions the webhook, unless nil, converts.
func serve(t *testing.T, c *converter, versions string) func(method, path, body string) (int, string) {
	t.Helper()
	conversion := ""
	if c != nil {
		bundle := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw}))
		conversion = fmt.Sprintf(`,"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"%s","caBundle":"%s"}}}`, c.URL, bundle)
	}
	do := sender(startServer(t))
	crd := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},"versions":[` + versions + `]` + conversion + `}}`
	if code, body := do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd); code != 201 {
		t.Fatalf("definition: %d %s", code, body)
	}
	untilServed(t, do, 200)
	return do
}

func untilServed(t *testing.T, do func(method, path, body string) (int, string), code int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		got, body := do("GET", "/apis/example.com/v1/namespaces/a/widgets", "")
		if got == code {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("objects: %d %s", got, body)
		}
	}
}

const (
	widgetsV1      = "/apis/example.com/v1/namespaces/a/widgets"
	widgetsV2      = "/apis/example.com/v2/namespaces/a/widgets"
	openVersion    = `{"name":"%s","served":true,"storage":%t,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`
	widgetOf       = `{"apiVersion":"example.com/%s","kind":"Widget","metadata":{"name":"%s"}%s}`
	definitionPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
)

// TestOwnersInOtherVersions changes a field that the version of another owner does not have: the owners stay as they
// were.
func TestOwnersInOtherVersions(t *testing.T) {
	const version = `{"name":"%s","served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string"},"%s":{"type":"string"}}}}}}}`
	do := serve(t, nil, fmt.Sprintf(version, "v1", false, "b")+","+fmt.Sprintf(version, "v2", true, "c"))
	for _, w := range []struct{ method, path, body, has, lacks string }{
		{"POST", widgetsV1 + "?fieldManager=one", fmt.Sprintf(widgetOf, "v1", "w", `,"spec":{"a":"1"}`), `"manager":"one"`, ""},
		{"PATCH", widgetsV2 + "/w?fieldManager=two", `{"spec":{"c":"1"}}`, `"manager":"one"`, `"manager":"two"`},
		{"PATCH", widgetsV1 + "/w?fieldManager=three", `{"spec":{"a":"2"}}`, `"manager":"three"`, `"manager":"two"`},
	} {
		if code, body := do(w.method, w.path, w.body); code > 201 || !strings.Contains(body, w.has) ||
			w.lacks != "" && strings.Contains(body, w.lacks) {
			t.Errorf("%s %s: %d %s", w.method, w.path, code, body)
		}
	}
}

// TestSelectableFieldsOfOneVersion selects by a field that only a version beside the storage
// version has.
func TestSelectableFieldsOfOneVersion(t *testing.T) {
	c := newConverter(t, func(u *unstructured.Unstructured, to string) {
		from, into := "hue", "color"
		if to == "v2" {
			from, into = into, from
		}
		if v, found, _ := unstructured.NestedString(u.Object, "spec", from); found {
			u.Object["spec"] = map[string]any{into: v}
		}
	})
	const version = `{"name":"%s","served":true,"storage":%t%s,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"%s":{"type":"string"}}}}}}}`
	do := serve(t, c, fmt.Sprintf(version, "v1", true, "", "color")+","+
		fmt.Sprintf(version, "v2", false, `,"selectableFields":[{"jsonPath":".spec.hue"}]`, "hue"))
	for _, w := range []struct{ path, body string }{
		{widgetsV1, fmt.Sprintf(widgetOf, "v1", "stored", `,"spec":{"color":"red"}`)},
		{widgetsV2, fmt.Sprintf(widgetOf, "v2", "converted", `,"spec":{"hue":"red"}`)},
		{widgetsV2, fmt.Sprintf(widgetOf, "v2", "other", `,"spec":{"hue":"blue"}`)},
	} {
		if code, body := do("POST", w.path, w.body); code != 201 {
			t.Fatal(code, body)
		}
	}
	for _, step := range []struct {
		name, method, path string
		code               int
		has, lacks         string
	}{
		{"list", "GET", widgetsV2 + "?fieldSelector=spec.hue=red", 200, `"converted" "stored"`, `"other"`},
		{"page", "GET", widgetsV2 + "?limit=1&fieldSelector=spec.hue=red", 200, `"converted" "continue"`, `"stored"`},
		{"other than", "GET", widgetsV2 + "?fieldSelector=spec.hue!=red", 200, `"other"`, `"stored"`},
		{"with another field", "GET", widgetsV2 + "?fieldSelector=spec.hue=red,metadata.name=stored", 200, `"stored"`, `"converted"`},
		{"watch", "GET", widgetsV2 + "?watch=1&timeoutSeconds=1&fieldSelector=spec.hue=red", 200, `"stored"`, `"other"`},
		{"not in the storage version", "GET", widgetsV1 + "?fieldSelector=spec.hue=red", 400, "field label not supported", ""},
		{"delete", "DELETE", widgetsV2 + "?fieldSelector=spec.hue=red", 200, `"stored"`, `"other"`},
		{"the rest", "GET", widgetsV2, 200, `"other"`, `"stored"`},
	} {
		code, body := do(step.method, step.path, "")
		for _, has := range strings.Fields(step.has) {
			if !strings.Contains(body, has) && !strings.Contains(body, step.has) {
				t.Errorf("%s: %s is missing: %s", step.name, has, body)
			}
		}
		if code != step.code || step.lacks != "" && strings.Contains(body, step.lacks) {
			t.Errorf("%s: %d %s", step.name, code, body)
		}
	}
	if code, body := do("POST", widgetsV1, fmt.Sprintf(widgetOf, "v1", "new", `,"spec":{"color":"green"}`)); code != 201 {
		t.Fatal(code, body)
	}
	c.broken.Store(true)
	if code, body := do("GET", widgetsV2+"?fieldSelector=spec.hue=red", ""); code != 500 {
		t.Errorf("what cannot be converted may be selected: %d %s", code, body)
	}
	if code, body := do("GET", widgetsV2+"?fieldSelector=metadata.name=none", ""); code != 200 {
		t.Errorf("a name is read without conversion: %d %s", code, body)
	}
}

// TestStatusOfWebhook drops and keeps statuses in the version of the request, before conversion.
func TestStatusOfWebhook(t *testing.T) {
	c := newConverter(t, func(u *unstructured.Unstructured, to string) {
		if to == "v2" {
			_ = unstructured.SetNestedField(u.Object, "hook", "status", "from")
		}
	})
	do := serve(t, c, fmt.Sprintf(openVersion, "v1", false)+","+fmt.Sprintf(openVersion, "v2", true))
	for _, step := range []struct{ name, method, path, body, stored string }{
		{"create", "POST", "", fmt.Sprintf(widgetOf, "v1", "w", `,"status":{"mine":1}`), `"status":{"from":"hook"}`},
		{"update", "PATCH", "/w", `{"spec":1,"status":{"mine":2}}`, `"spec":1,"status":{"from":"hook"}`},
		{"status", "PATCH", "/w/status", `{"spec":2,"status":{"mine":3}}`, `"spec":1,"status":{"from":"hook","mine":3}`},
	} {
		if code, body := do(step.method, widgetsV1+step.path, step.body); code > 201 || !strings.Contains(body, step.stored) {
			t.Errorf("%s: %d %s", step.name, code, body)
		}
		if code, body := do("GET", widgetsV2+"/w", ""); code != 200 || !strings.Contains(body, step.stored) {
			t.Errorf("%s: stored: %d %s", step.name, code, body)
		}
	}
}

// TestStatusInAnnotation keeps what a webhook makes of a status outside of the status.
func TestStatusInAnnotation(t *testing.T) {
	c := newConverter(t, func(u *unstructured.Unstructured, to string) {
		if to == "v1" {
			status, _ := json.Marshal(u.Object["status"])
			u.SetAnnotations(map[string]string{"status": string(status)})
			delete(u.Object, "status")
			return
		}
		var status any
		if json.Unmarshal([]byte(u.GetAnnotations()["status"]), &status) == nil && status != nil {
			u.Object["status"] = status
		}
		u.SetAnnotations(nil)
	})
	do := serve(t, c, fmt.Sprintf(openVersion, "v1", true)+","+fmt.Sprintf(openVersion, "v2", false))
	for _, step := range []struct{ method, path, body string }{
		{"POST", widgetsV2, fmt.Sprintf(widgetOf, "v2", "w", "")},
		{"PATCH", widgetsV2 + "/w/status", `{"status":{"phase":"Ready"}}`},
		{"PATCH", widgetsV2 + "/w", `{"spec":1,"status":{"phase":"Lost"}}`},
	} {
		if code, body := do(step.method, step.path, step.body); code > 201 {
			t.Fatal(code, body)
		}
	}
	if _, body := do("GET", widgetsV2+"/w", ""); !strings.Contains(body, `"spec":1,"status":{"phase":"Ready"}`) {
		t.Error(body)
	}
	if _, body := do("GET", widgetsV1+"/w", ""); !strings.Contains(body, `{"status":"{\"phase\":\"Ready\"}"}`) {
		t.Error(body)
	}
}

// TestRootIsValidatedAtEachUpdate rejects updates of an object that was valid before its CRD was
// changed, where it is not valid as a whole or by its kind.
func TestRootIsValidatedAtEachUpdate(t *testing.T) {
	const version = `{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"%s,"properties":{"size":{"type":"integer"}%s,"foo":{"type":"string"}}}}}`
	for _, tt := range []struct{ name, root, properties, message string }{
		{"required", `,"required":["foo"]`, "", "foo: Required value"},
		{"apiVersion", "", `,"apiVersion":{"type":"string","pattern":"^other$"}`, "apiVersion in body should match"},
		{"rule", `,"x-kubernetes-validations":[{"rule":"has(self.foo)"}]`, "", "failed rule: has(self.foo)"},
		{"a field that did not change", "", `,"color":{"type":"string","pattern":"^red$"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			do := serve(t, nil, fmt.Sprintf(version, "", `,"color":{"type":"string"}`))
			if code, body := do("POST", widgetsV1, fmt.Sprintf(widgetOf, "v1", "w", `,"color":"blue","size":1`)); code != 201 {
				t.Fatal(code, body)
			}
			patch := `{"spec":{"versions":[` + fmt.Sprintf(version, tt.root, tt.properties) + `]}}`
			if code, body := do("PATCH", definitionPath, patch); code != 200 {
				t.Fatal(code, body)
			}
			want := 422
			if tt.message == "" {
				want = 200
			}
			for _, patch := range []string{"{}", `{"size":2}`} {
				for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
					code, body := do("PATCH", widgetsV1+"/w", patch)
					if code == want && strings.Contains(body, tt.message) {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("%s: %d %s", patch, code, body)
					}
				}
			}
		})
	}
}

// TestBodyOfUnknownVersion knows no fields of a version that there is not.
func TestBodyOfUnknownVersion(t *testing.T) {
	do := serve(t, nil, `{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object"}}}}}`)
	body := fmt.Sprintf(widgetOf, "v9", "w", `,"bogus":1,"spec":{"unknown":1}`)
	if code, got := do("POST", widgetsV1+"?fieldValidation=Strict", body); code != 400 ||
		!strings.Contains(got, `strict decoding error: unknown field \"bogus\", unknown field \"spec\"`) || strings.Contains(got, "spec.unknown") {
		t.Error(code, got)
	}
}

// TestTidyDefaults stores defaults of embedded resources without unknown metadata.
func TestTidyDefaults(t *testing.T) {
	do := serve(t, nil, `{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"embedded":{
"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"default":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","bogus":1},"spec":{"kept":1}}}}}}}}}}`)
	if code, body := do("GET", definitionPath, ""); code != 200 || strings.Contains(body, `"bogus"`) || !strings.Contains(body, `"default":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"kept":1}}`) {
		t.Error(code, body)
	}
}
