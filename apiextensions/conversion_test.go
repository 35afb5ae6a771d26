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

// convertWidgets is a conversion webhook that knows no widget "bad", nor "new" in v1, and leaves a field "was"
// behind with the version that it has converted from.
func convertWidgets(w http.ResponseWriter, r *http.Request) {
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		var u unstructured.Unstructured
		if err := json.Unmarshal(raw.Raw, &u.Object); err != nil || u.GetName() == "bad" || u.GetName() == "new" && strings.HasSuffix(review.Request.DesiredAPIVersion, "/v1") {
			response.Result = metav1.Status{Status: metav1.StatusFailure, Message: "no such widget"}
			break
		}
		u.Object["was"] = u.GetAPIVersion()
		u.SetAPIVersion(review.Request.DesiredAPIVersion)
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Object: &u})
	}
	review.Request, review.Response = nil, response
	_ = json.NewEncoder(w).Encode(review)
}

// TestConversionWebhook writes through a version that a webhook converts.
func TestConversionWebhook(t *testing.T) {
	var calls atomic.Int64
	webhook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		convertWidgets(w, r)
	}))
	defer webhook.Close()
	bundle := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw}))
	const version = `{"name":"%s","served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`
	crd := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},"versions":[%s,%s],
"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"%s","caBundle":"%s"}}}}}`,
		fmt.Sprintf(version, "v1", false), fmt.Sprintf(version, "v2", true), webhook.URL, bundle)
	h := startServer(t)
	do := sender(h)
	if code, body := do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd); code != 201 {
		t.Fatalf("definition: %d %s", code, body)
	}
	const v1, v2 = "/apis/example.com/v1/namespaces/a/widgets", "/apis/example.com/v2/namespaces/a/widgets"
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if code, body := do("GET", v1, ""); code == 200 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("objects: %d %s", code, body)
		}
	}
	widget := func(version, name string) string {
		return fmt.Sprintf(`{"apiVersion":"example.com/%s","kind":"Widget","metadata":{"name":"%s"},"size":1}`, version, name)
	}
	for _, step := range []struct {
		name, method, path, body string
		code                     int
		has                      string
	}{
		{"who sends a field owns it, not what conversions add", "POST", v1, widget("v1", "good"), 201, `"apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:size":{}}`},
		{"conversions are seen", "GET", v2 + "/good", "", 200, `"was":"example.com/v1"`},
		{"create", "POST", v1, widget("v1", "bad"), 500, "failed: no such widget"},
		{"validation in the version of the request", "POST", v1, widget("v1", "new"), 500, "example.com/v2, Kind=Widget failed: no such widget"},
		{"what is not there is found missing first", "PUT", v1 + "/bad", widget("v1", "bad"), 404, "not found"},
		{"in the version that is stored", "POST", v2, widget("v2", "bad"), 201, `"size":1`},
		{"the live object is read first", "PUT", v1 + "/bad", widget("v1", "bad"), 500, "example.com/v2, Kind=Widget failed: no such widget"},
		{"patch", "PATCH", v1 + "/bad", `{"size":2}`, 500, "failed: no such widget"},
		{"delete", "DELETE", v1 + "/bad", "", 500, "failed: no such widget"},
		{"collection", "DELETE", v1, "", 500, "failed: no such widget"},
		{"it stays", "GET", v2 + "/bad", "", 200, `"size":1`},
		{"all stay", "GET", v2 + "/good", "", 200, `"size":1`},
		{"a write", "PATCH", v1 + "/good", `{"size":3}`, 200, `"size":3`},
		{"one of the metadata", "PATCH", v1 + "/good", `{"metadata":{"labels":{"a":"b"}}}`, 200, `"a":"b"`},
		{"one that changes nothing", "PATCH", v1 + "/good", `{"size":3}`, 200, `"size":3`},
	} {
		before := calls.Load()
		code, body := do(step.method, step.path, step.body)
		if n := calls.Load() - before; n > 4 {
			t.Errorf("%s: %d conversions: of the stored object, the new one, that as it is stored and as it is answered", step.name, n)
		}
		if code != step.code || !strings.Contains(body, step.has) || strings.Contains(body, "f:was") {
			t.Errorf("%s: %d %s", step.name, code, body)
		}
	}
}
