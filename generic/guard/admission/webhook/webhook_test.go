package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionapi "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/base/egress"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/expression"
	"triplane.dev/generic/storage/jsonpatch"
)

// converter converts ConfigMaps, which have one version.
type converter struct{}

func (converter) Kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
}
func (converter) New() runtime.Object                                { return &corev1.ConfigMap{} }
func (converter) Default(runtime.Object)                             {}
func (converter) ToHub(obj runtime.Object) (runtime.Object, error)   { return obj, nil }
func (converter) FromHub(obj runtime.Object) (runtime.Object, error) { return obj, nil }

// later is the converter of another version.
type later struct{ converter }

func (later) Kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v2", Kind: "ConfigMap"}
}
func (later) Served() []schema.GroupVersion {
	return []schema.GroupVersion{{Version: "v1"}, {Version: "v2"}}
}
func (l later) Converter(gv schema.GroupVersion) (admission.Converter, error) {
	if gv.Version != "v2" {
		return nil, errors.New("no such version")
	}
	return l, nil
}

func nowhere(context.Context, string) (*corev1.Namespace, error) {
	return nil, errors.New("no namespaces")
}
func operation() *admission.Attributes {
	return &admission.Attributes{
		Operation: admission.Create, Namespace: "n", Name: "a", Codec: converter{}, Versions: later{},
		Kind: converter{}.Kind(), Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}},
	}
}

// serve responds to each review with the result of respond, without changes.
func serve(t testing.TB, respond func(*admissionapi.AdmissionReview)) admissionv1.WebhookClientConfig {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionapi.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionapi.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		respond(&review)
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&review)
	}))
	t.Cleanup(s.Close)
	return admissionv1.WebhookClientConfig{URL: ptr.To(s.URL), CABundle: bundle(s)}
}

func validatingHook(client admissionv1.WebhookClientConfig, change func(*admissionv1.ValidatingWebhook)) *admissionv1.ValidatingWebhookConfiguration {
	w := admissionv1.ValidatingWebhook{
		Name: "w.example.com", ClientConfig: client, AdmissionReviewVersions: []string{"v1"},
		SideEffects: ptr.To(admissionv1.SideEffectClassNone),
		Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{"*"}, Rule: admissionv1.Rule{
			APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"},
		}}},
	}
	if change != nil {
		change(&w)
	}
	return &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Webhooks: []admissionv1.ValidatingWebhook{w}}
}

func TestInvalidResponses(t *testing.T) {
	const invalid = "received invalid webhook response: "
	for name, c := range map[string]struct {
		respond func(*admissionapi.AdmissionReview)
		want    string
	}{
		"allowed":      {func(*admissionapi.AdmissionReview) {}, ""},
		"no response":  {func(r *admissionapi.AdmissionReview) { r.Response = nil }, invalid + "webhook response was absent"},
		"another UID":  {func(r *admissionapi.AdmissionReview) { r.Response.UID = "x" }, invalid + `expected response.uid="`},
		"another kind": {func(r *admissionapi.AdmissionReview) { r.Kind = "Review" }, `failed to call webhook: no kind "Review" is registered for version "admission.k8s.io/v1"`},
		"no kind":      {func(r *admissionapi.AdmissionReview) { r.TypeMeta = metav1.TypeMeta{} }, invalid + "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind="},
		"a huge one": {func(r *admissionapi.AdmissionReview) {
			r.Response.Warnings = []string{strings.Repeat("w", maxResponse)}
		}, "failed to call webhook: "},
		"a patch":           {func(r *admissionapi.AdmissionReview) { r.Response.Patch = []byte("[]") }, invalid + "validating webhook may not return response.patch"},
		"an empty patch":    {func(r *admissionapi.AdmissionReview) { r.Response.Patch = []byte{} }, ""},
		"a kind of a patch": {func(r *admissionapi.AdmissionReview) { r.Response.PatchType = ptr.To(admissionapi.PatchTypeJSONPatch) }, invalid + "validating webhook may not return response.patchType"},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewValidating(Config{Namespaces: nowhere})
			p.Set([]*admissionv1.ValidatingWebhookConfiguration{validatingHook(serve(t, c.respond), nil)})
			defer p.Set(nil)
			err := p.Validate(t.Context(), operation())
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), `failed calling webhook "w.example.com": `+c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestDenials(t *testing.T) {
	for name, c := range map[string]struct {
		result *metav1.Status
		code   int32
		want   string
	}{
		"nothing said": {nil, 400, " without explanation"},
		"a reason":     {&metav1.Status{Reason: "Why"}, 400, ": Why"},
		"a message":    {&metav1.Status{Message: "so", Reason: "Why", Code: 409}, 409, ": so"},
		"a success":    {&metav1.Status{Status: "Success", Code: 200}, 400, " without explanation"},
	} {
		t.Run(name, func(t *testing.T) {
			var status *apierrors.StatusError
			if err := denialOf("w", c.result); !errors.As(err, &status) || status.ErrStatus.Code != c.code || status.ErrStatus.Status != metav1.StatusFailure ||
				status.ErrStatus.Message != `admission webhook "w" denied the request`+c.want {
				t.Errorf("%+v", status)
			}
		})
	}
}

func TestMatchingWebhooksAreCalled(t *testing.T) {
	var asked atomic.Int32
	client := serve(t, func(r *admissionapi.AdmissionReview) {
		asked.Add(1)
		r.Response.Allowed = false
	})
	dead := admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1")}
	for name, c := range map[string]struct {
		client admissionv1.WebhookClientConfig
		hook   func(*admissionv1.ValidatingWebhook)
		op     func(*admission.Attributes)
		asked  int32
		fails  bool
	}{
		"asked":            {client: client, asked: 1, fails: true},
		"another resource": {client: client, hook: func(w *admissionv1.ValidatingWebhook) { w.Rules[0].Resources = []string{"pods"} }},
		"its own configuration": {client: client, op: func(a *admission.Attributes) {
			a.Resource.Group, a.Resource.Resource = admissionv1.GroupName, "validatingwebhookconfigurations"
		}},
		"a condition is false": {client: client, hook: func(w *admissionv1.ValidatingWebhook) {
			w.MatchConditions = []admissionv1.MatchCondition{{Name: "a", Expression: "false"}}
		}},
		"dry run, side effects":  {client: client, hook: func(w *admissionv1.ValidatingWebhook) { w.SideEffects = ptr.To(admissionv1.SideEffectClassSome) }, op: func(a *admission.Attributes) { a.DryRun = true }, fails: true},
		"dead":                   {client: dead, fails: true},
		"dead, which is ignored": {client: dead, hook: func(w *admissionv1.ValidatingWebhook) { w.FailurePolicy = ptr.To(admissionv1.Ignore) }},
		"a condition fails": {client: client, hook: func(w *admissionv1.ValidatingWebhook) {
			w.MatchConditions = []admissionv1.MatchCondition{{Name: "a", Expression: "object.x.y == 1"}}
		}, fails: true},
		"a namespace is not read": {client: client, hook: func(w *admissionv1.ValidatingWebhook) {
			w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			asked.Store(0)
			p := NewValidating(Config{Namespaces: nowhere})
			p.Set([]*admissionv1.ValidatingWebhookConfiguration{validatingHook(c.client, c.hook)})
			defer p.Set(nil)
			a := operation()
			if c.op != nil {
				c.op(a)
			}
			if err := p.Validate(t.Context(), a); (err != nil) != c.fails {
				t.Errorf("%v", err)
			}
			if n := asked.Load(); n != c.asked {
				t.Errorf("%d calls, want %d", n, c.asked)
			}
		})
	}
}

func TestMutation(t *testing.T) {
	for name, c := range map[string]struct {
		patch   string
		op      admission.Operation
		want    string // of data.k
		changed bool
		err     string
		policy  admissionv1.FailurePolicyType
		kind    admissionapi.PatchType
	}{
		"another kind of patch": {patch: `[{"op":"replace","path":"/data/k","value":"w"}]`, kind: "Merge", want: "v",
			err: `failed calling webhook "w.example.com": unsupported patch type "Merge"`},
		"another kind of patch, ignored": {patch: `[{"op":"replace","path":"/data/k","value":"w"}]`, kind: "Merge", want: "v",
			policy: admissionv1.Ignore},
		"nothing, of another kind of patch": {patch: `[]`, kind: "Merge", want: "v"},
		"no patch, ignored":                 {patch: `{`, want: "v", policy: admissionv1.Ignore},
		"another kind":                      {patch: `[{"op":"replace","path":"/kind","value":"Secret"}]`, want: "v", err: "attempted to change the kind of the object from /v1, Kind=ConfigMap to /v1, Kind=Secret"},
		"unsaid kind":                       {patch: `[{"op":"replace","path":"","value":{"metadata":{"name":"a"},"data":{"k":"w"}}}]`, want: "w", changed: true},
		"its other version":                 {patch: `[{"op":"replace","path":"/apiVersion","value":"v2"},{"op":"replace","path":"/data/k","value":"w"}]`, want: "w", changed: true},
		"another version":                   {patch: `[{"op":"replace","path":"/apiVersion","value":"v9"}]`, want: "v", err: "attempted to change the kind of the object"},
		"changed":                           {patch: `[{"op":"replace","path":"/data/k","value":"w"}]`, want: "w", changed: true},
		"the same":                          {patch: `[{"op":"replace","path":"/data/k","value":"v"}]`, want: "v"},
		"nothing":                           {patch: `[]`, want: "v"},
		"no patch":                          {patch: `{`, want: "v", err: "failed calling webhook \"w.example.com\": received undecodable patch in webhook response: unexpected end of JSON input"},
		"what is not there":                 {patch: `[{"op":"remove","path":"/data/x"}]`, want: "v", err: "Unable to remove nonexistent key"},
		"what it cannot be":                 {patch: `[{"op":"replace","path":"/data","value":[1]}]`, want: "v", err: "cannot unmarshal array"},
		"nothing to change":                 {patch: `[{"op":"add","path":"/a","value":1}]`, op: admission.Delete, err: "attempted to modify the object"},
		"a patch that panics?":              {patch: `[{"op":"copy","path":"/data/x"}]`, want: "v", err: "copy"},
	} {
		t.Run(name, func(t *testing.T) {
			client := serve(t, func(r *admissionapi.AdmissionReview) {
				r.Response.Patch = []byte(c.patch)
				r.Response.PatchType = ptr.To(cmp.Or(c.kind, admissionapi.PatchTypeJSONPatch))
			})
			v := validatingHook(client, nil).Webhooks[0]
			if c.policy != "" {
				v.FailurePolicy = &c.policy
			}
			p := NewMutating(Config{Namespaces: nowhere})
			p.Set([]*admissionv1.MutatingWebhookConfiguration{{Webhooks: []admissionv1.MutatingWebhook{{
				Name: v.Name, ClientConfig: v.ClientConfig, Rules: v.Rules, AdmissionReviewVersions: v.AdmissionReviewVersions, SideEffects: v.SideEffects, FailurePolicy: v.FailurePolicy,
			}}}})
			defer p.Set(nil)
			a := operation()
			object := a.Object.(*corev1.ConfigMap)
			if c.op == admission.Delete {
				a.Operation, a.OldObject, a.Object = c.op, a.Object, nil
			}
			err := admission.NewChain(nil, admission.Named{Plugin: p}).Admit(t.Context(), a)
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v", err)
			}
			if c.want != "" && object.Data["k"] != c.want {
				t.Errorf("%v", object.Data)
			}
			if a.Reinvocation() != c.changed {
				t.Errorf("a second round: %v", a.Reinvocation())
			}
		})
	}
}

// Exceeding a webhook's timeout while applying its patch is a failed call.
func TestPatchesOutlastTheirWebhooks(t *testing.T) {
	long, err := jsonpatch.Decode([]byte("[" + strings.Repeat(`{"op":"add","path":"/data/k","value":"w"},`, 2000) + `{"op":"add","path":"/data/l","value":"w"}]`))
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		ignore bool
		left   time.Duration
		data   int
		err    string
	}{
		"in time":                           {ctx: t.Context(), left: time.Hour, data: 2},
		"it fails":                          {ctx: t.Context(), data: 1, err: `failed to apply the patch of webhook "w.example.com": context deadline exceeded`},
		"it is ignored":                     {ctx: t.Context(), ignore: true, data: 1},
		"the request ended, and it did not": {ctx: gone, ignore: true, left: time.Hour, data: 1, err: "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			a := operation()
			v, err := expression.NewInputs(t.Context(), a, nil, nowhere).Values(schema.GroupVersion{Version: "v1"})
			if err != nil {
				t.Fatal(err)
			}
			called := &webhookCall{hook: &hook{name: "w.example.com", ignore: c.ignore}, mutating: true}
			review := &reply{AdmissionResponse: &admissionapi.AdmissionResponse{
				PatchType: ptr.To(admissionapi.PatchTypeJSONPatch),
			}, patch: long}
			_, err = called.patch(c.ctx, time.Now().Add(c.left), v, review)
			if (err != nil) != (c.err != "") || err != nil && (!apierrors.IsInternalError(err) || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%v", err)
			}
			if data := a.Object.(*corev1.ConfigMap).Data; len(data) != c.data {
				t.Errorf("%v", data)
			}
		})
	}
}

type nobody struct{ *egress.Selector }

func (nobody) ResolveEndpoint(string, string, int32) (*url.URL, error) {
	return nil, errors.New("no such service")
}

// A failed match condition is reported without a name that the object does not have yet.
func TestFailedConditions(t *testing.T) {
	p := NewValidating(Config{Namespaces: nowhere})
	p.Set([]*admissionv1.ValidatingWebhookConfiguration{validatingHook(admissionv1.WebhookClientConfig{},
		func(w *admissionv1.ValidatingWebhook) {
			w.MatchConditions = []admissionv1.MatchCondition{{Name: "a", Expression: "object.x == 1"}}
		})})
	defer p.Set(nil)
	a := operation()
	a.Name, a.Object = "", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}
	const want = `configmaps is forbidden: expression 'object.x == 1' resulted in error: no such key: x`
	if err := p.Validate(t.Context(), a); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestUserAgent(t *testing.T) {
	var agent string
	s := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { agent = r.UserAgent() }))
	defer s.Close()
	p := NewValidating(Config{Namespaces: nowhere})
	p.Set([]*admissionv1.ValidatingWebhookConfiguration{validatingHook(
		admissionv1.WebhookClientConfig{URL: ptr.To(s.URL), CABundle: bundle(s)}, nil)})
	defer p.Set(nil)
	if err := p.Validate(t.Context(), operation()); err == nil || agent != "kube-apiserver-admission" {
		t.Errorf("%q, %v", agent, err)
	}
}

func TestServicesAreResolved(t *testing.T) {
	p := NewValidating(Config{Namespaces: nowhere, Resolver: nobody{}})
	p.Set([]*admissionv1.ValidatingWebhookConfiguration{validatingHook(admissionv1.WebhookClientConfig{
		Service: &admissionv1.ServiceReference{Namespace: "n", Name: "s", Path: ptr.To("/p")},
	}, nil)})
	defer p.Set(nil)
	err := p.Validate(t.Context(), operation())
	if err == nil || !strings.Contains(err.Error(), `Post "https://s.n.svc:443/p?timeout=10s": no such service`) {
		t.Errorf("%v", err)
	}
}

func TestGate(t *testing.T) {
	gate := admission.NewGate()
	p := NewValidating(Config{Gate: gate})
	if !p.Handles(admission.Create) {
		t.Error("a closed gate lets requests by")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Validate(ctx, operation()); !apierrors.IsForbidden(err) {
		t.Errorf("%v", err)
	}
	gate.Open()
	if p.Handles(admission.Create) {
		t.Error("there is nothing to handle")
	}
}

func BenchmarkNobodyIsAsked(b *testing.B) {
	p := NewValidating(Config{Namespaces: nowhere})
	p.Set([]*admissionv1.ValidatingWebhookConfiguration{validatingHook(admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1")},
		func(w *admissionv1.ValidatingWebhook) { w.Rules[0].Resources = []string{"pods"} })})
	defer p.Set(nil)
	a := operation()
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Validate(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}

func TestReviewsAreExcluded(t *testing.T) {
	client := serve(t, func(r *admissionapi.AdmissionReview) { r.Response.Allowed = false })
	for _, group := range []string{"authentication.k8s.io", "authorization.k8s.io", ""} {
		for _, excluded := range []bool{false, true} {
			p := NewValidating(Config{Namespaces: nowhere, ExcludeReviews: excluded})
			p.Set([]*admissionv1.ValidatingWebhookConfiguration{validatingHook(client, nil)})
			a := operation()
			a.Resource = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "tokenreviews"}
			err := p.Validate(t.Context(), a)
			if called, want := err != nil, !excluded || group == ""; called != want {
				t.Errorf("group %q, reviews excluded %t: called %t, want %t", group, excluded, called, want)
			}
			p.Set(nil)
		}
	}
}
