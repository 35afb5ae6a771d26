// The webhook server of this package's tests, and the configurations that name it.

package admission

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	admissionapi "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"triplane.dev/e2e/harness"
)

// hookServer answers admission reviews by path, and remembers them.
type hookServer struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string]func(*admissionapi.AdmissionRequest) *admissionapi.AdmissionResponse
	seen    map[string][]*admissionapi.AdmissionRequest
}

func newHookServer(t *testing.T) *hookServer {
	h := &hookServer{
		answers: map[string]func(*admissionapi.AdmissionRequest) *admissionapi.AdmissionResponse{},
		seen:    map[string][]*admissionapi.AdmissionRequest{},
	}
	h.Server = httptest.NewTLSServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var review admissionapi.AdmissionReview
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err != nil || review.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	h.seen[r.URL.Path] = append(h.seen[r.URL.Path], review.Request)
	answer := h.answers[r.URL.Path]
	h.mu.Unlock()
	if answer == nil {
		http.NotFound(w, r)
		return
	}
	response := answer(review.Request)
	response.UID = review.Request.UID
	review.Request, review.Response = nil, response
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(&review)
}

// serve sets the answer of a path.
func (h *hookServer) serve(path string, f func(*admissionapi.AdmissionRequest) *admissionapi.AdmissionResponse) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers[path] = f
}

func (h *hookServer) requests(path string) []*admissionapi.AdmissionRequest {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seen[path])
}

// client is how a configuration names a path of the server.
func (h *hookServer) client(path string) admissionv1.WebhookClientConfig {
	return admissionv1.WebhookClientConfig{URL: ptr.To(h.URL + path), CABundle: pemOf(h.Certificate().Raw)}
}

func allow(*admissionapi.AdmissionRequest) *admissionapi.AdmissionResponse {
	return &admissionapi.AdmissionResponse{Allowed: true}
}

func patching(patch string) func(*admissionapi.AdmissionRequest) *admissionapi.AdmissionResponse {
	return func(*admissionapi.AdmissionRequest) *admissionapi.AdmissionResponse {
		return &admissionapi.AdmissionResponse{Allowed: true, Patch: []byte(patch),
			PatchType: ptr.To(admissionapi.PatchTypeJSONPatch)}
	}
}

// onConfigMaps is a rule about writes of config maps.
func onConfigMaps(ops ...admissionv1.OperationType) []admissionv1.RuleWithOperations {
	return []admissionv1.RuleWithOperations{{Operations: ops, Rule: admissionv1.Rule{
		APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
	}}}
}

// inNamespace selects a namespace by its name.
func inNamespace(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}}
}

// warnings collects what the server warns of.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.texts)
}

// admitted is a server with a webhook server beside it.
type admitted struct {
	*testing.T
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	hooks    *hookServer
	warnings *warnings
}

func newAdmitted(t *testing.T) *admitted {
	s := harness.Start(t)
	w := &warnings{}
	config := rest.CopyConfig(s.Config)
	config.WarningHandler = w
	return &admitted{t, kubernetes.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config), newHookServer(t), w}
}

func (a *admitted) namespace(t *testing.T, name string) {
	t.Helper()
	if _, err := a.client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// validating registers a webhook and waits until it is asked about config maps of
// the namespace.
func (a *admitted) validating(t *testing.T, namespace string, w admissionv1.ValidatingWebhook) {
	t.Helper()
	if w.NamespaceSelector == nil {
		w.NamespaceSelector = inNamespace(namespace)
	}
	w.SideEffects, w.AdmissionReviewVersions = ptr.To(admissionv1.SideEffectClassNone), []string{"v1"}
	conf := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Webhooks: []admissionv1.ValidatingWebhook{w}}
	confs := a.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := confs.Create(t.Context(), conf, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (a *admitted) mutating(t *testing.T, namespace string, hooks ...admissionv1.MutatingWebhook) {
	t.Helper()
	conf := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	for _, w := range hooks {
		w.NamespaceSelector = inNamespace(namespace)
		w.SideEffects, w.AdmissionReviewVersions = ptr.To(admissionv1.SideEffectClassNone), []string{"v1"}
		conf.Webhooks = append(conf.Webhooks, w)
	}
	if _, err := a.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), conf,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (a *admitted) create(t *testing.T, namespace, name string, opts metav1.CreateOptions) (*corev1.ConfigMap, error) {
	return a.client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": "v"},
	}, opts)
}

// active waits for the answer to dry runs that shows that a configuration is in
// force.
func (a *admitted) active(t *testing.T, namespace string, shows func(*corev1.ConfigMap, error) bool) {
	t.Helper()
	harness.Eventually(t, func() error {
		m, err := a.create(t, namespace, "probe", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if !shows(m, err) {
			return fmt.Errorf("not in force: %v, %v", m, err) //nolint:errorlint // the error may be nil
		}
		return nil
	})
}
