package conversion

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/base/metrics"
)

var v2 = schema.GroupVersion{Group: "example.com", Version: "v2"}

func object(version, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/" + version, "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": map[string]any{"a": "x"},
	}}
}

func TestWebhook(t *testing.T) {
	convert := func(change func(*unstructured.Unstructured)) func(*review) {
		return func(r *review) {
			for _, raw := range r.Request.Objects {
				o := &unstructured.Unstructured{}
				if err := o.UnmarshalJSON(raw.Raw); err != nil {
					t.Error(err)
				}
				o.SetAPIVersion(r.Request.DesiredAPIVersion)
				change(o)
				r.Response.ConvertedObjects = append(r.Response.ConvertedObjects, runtime.RawExtension{Object: o})
			}
		}
	}
	for name, c := range map[string]struct {
		answer func(*review)
		want   string // of the error
	}{
		"converted":         {convert(func(o *unstructured.Unstructured) { o.Object["spec"] = map[string]any{"b": "x"} }), ""},
		"labels":            {convert(func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) }), ""},
		"renamed":           {convert(func(o *unstructured.Unstructured) { o.SetName("other") }), `invalid object: must have the same name: a != other`},
		"other uid":         {convert(func(o *unstructured.Unstructured) { o.SetUID("u") }), `must have the same UID:  != u`},
		"finalizers":        {convert(func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.com/f"}) }), ""},
		"other kind":        {convert(func(o *unstructured.Unstructured) { o.SetKind("Other") }), "object at index 0: invalid kind"},
		"nothing":           {func(*review) {}, "returned 0 objects, expected 1"},
		"refused":           {func(r *review) { r.Response.Result = metav1.Status{Status: "Failure", Message: "no way"} }, "no way"},
		"refused, wordless": {func(r *review) { r.Response.Result = metav1.Status{Status: "Failure"} }, "response.result.status was 'Failure', not 'Success'"},
		"not its uid":       {func(r *review) { r.Response.UID = "x" }, "expected response.uid"},
		"bad labels":        {convert(func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a b": "c"}) }), "invalid metadata: metadata.labels"},
		"numbers as labels": {convert(func(o *unstructured.Unstructured) {
			o.Object["metadata"].(map[string]any)["labels"] = map[string]any{"a": int64(5)}
		}), "invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object"},
		"a list of annotations": {convert(func(o *unstructured.Unstructured) {
			o.Object["metadata"].(map[string]any)["annotations"] = []any{"a"}
		}), "invalid metadata: invalid metadata.annotations of type []interface {} in converted object"},
		"not a review":  {func(r *review) { r.Kind = "Pod" }, "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=Pod"},
		"other version": {convert(func(o *unstructured.Unstructured) { o.SetAPIVersion("example.com/v3") }), "invalid groupVersion"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var in review
				if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
					t.Error(err)
				}
				if agent := r.UserAgent(); agent != "kube-apiserver-admission" {
					t.Errorf("User-Agent %q", agent)
				}
				in.Response = &apiextensionsv1.ConversionResponse{UID: in.Request.UID, Result: metav1.Status{Status: "Success"}}
				c.answer(&in)
				_ = json.NewEncoder(w).Encode(&in)
			}))
			defer server.Close()
			registry := metrics.New()
			w := &Webhook{Client: server.Client(), URL: server.URL, ReviewVersion: "v1", CRD: "widgets.example.com",
				Metrics: NewMetrics(registry)}
			defer checkMetrics(t, registry, w.Metrics, name)
			out, err := w.Convert(t.Context(), []*unstructured.Unstructured{object("v1", "a"), object("v2", "b")}, v2)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || len(out) != 2 || out[0].GetAPIVersion() != "example.com/v2" || len(out[0].GetFinalizers()) > 0 || out[1].GetName() != "b" {
				t.Errorf("got %v, %v", out, err)
			}
		})
	}
}

// checkMetrics expects that one call was counted, as a success or by what failed, until the CRD is deleted.
func checkMetrics(t *testing.T, registry *metrics.Registry, m *Metrics, name string) {
	t.Helper()
	what := map[string]failure{"converted": "", "renamed": invalidFailure, "nothing": partialFailure,
		"not its uid": malformedFailure}
	if want, ok := what[name]; ok {
		result := "failure"
		if want == "" {
			result = "success"
		}
		if n := testutil.ToFloat64(m.requests.WithLabelValues(result, string(want))); n != 1 {
			t.Errorf("%s: %v calls with %s", name, n, want)
		}
	}
	if n := testutil.CollectAndCount(m.crds); n != 1 {
		t.Errorf("%d series of the CRD", n)
	}
	registry.Forget(metrics.Gone{{Group: "example.com", Resource: "widgets"}: {}})
	if n := testutil.CollectAndCount(m.crds); n != 0 {
		t.Errorf("%d series of the deleted CRD", n)
	}
}

// TestWebhookFails asks webhooks that do not answer as they should.
func TestWebhookFails(t *testing.T) {
	for _, c := range []struct {
		code                    int
		contentType, body, want string
	}{
		{404, "text/plain", "404 page not found\n", "conversion webhook for example.com/v1, Kind=Widget failed: the server could not find the requested resource"},
		{500, "text/plain; charset=utf-8", "boom", `failed: an error on the server ("boom") has prevented the request from succeeding`},
		{200, "application/json", "{", "failed: "},
		{200, "application/json", "", "failed: 0-length response with status code: 200 and content type: application/json"},
		{403, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not you","code":403}`, "failed: not you"},
		{200, "application/json", "{}", "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind="},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.contentType)
			w.WriteHeader(c.code)
			_, _ = w.Write([]byte(c.body))
		}))
		w := &Webhook{Client: server.Client(), URL: server.URL, ReviewVersion: "v1"}
		if _, err := w.Convert(t.Context(), []*unstructured.Unstructured{object("v1", "a")}, v2); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d %s: %v", c.code, c.body, err)
		}
		server.Close()
	}
}

// TestBetaAnswers takes answers that do not say what they are, but none that are something else.
func TestBetaAnswers(t *testing.T) {
	beta := apiextensionsv1.SchemeGroupVersion
	beta.Version = "v1beta1"
	for _, c := range []struct {
		apiVersion, kind string
		good             bool
	}{
		{"", "", true}, {"", "ConversionReview", true}, {beta.String(), "", true}, {beta.String(), "ConversionReview", true},
		{apiextensionsv1.SchemeGroupVersion.String(), "ConversionReview", false}, {beta.String(), "Pod", false}, {"", "Pod", false}, {"example.com/v1", "ConversionReview", false},
	} {
		a := review{
			TypeMeta: metav1.TypeMeta{APIVersion: c.apiVersion, Kind: c.kind},
			Response: &apiextensionsv1.ConversionResponse{Result: metav1.Status{Status: "Success"}},
		}
		if _, err := a.objects(&apiextensionsv1.ConversionRequest{UID: "u"}, beta); (err == nil) != c.good {
			t.Errorf("%s %s: %v", c.apiVersion, c.kind, err)
		}
	}
}

func TestNoneLeavesItsArgumentAlone(t *testing.T) {
	in := object("v1", "a")
	out, err := None{}.Convert(t.Context(), []*unstructured.Unstructured{in}, v2)
	if err != nil || out[0].GetAPIVersion() != "example.com/v2" || len(out[0].GetFinalizers()) > 0 || in.GetAPIVersion() != "example.com/v1" {
		t.Errorf("got %v, %v", out, err)
	}
}
