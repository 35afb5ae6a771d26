package triplane

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/run/storageoptions"
	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/memory"
)

// A program adds a filter after authorization, which sees the user.
func TestBuildHandlerChain(t *testing.T) {
	o := testOptions(t.TempDir())
	o.ServerRun.BuildHandlerChain = func(defaults []filters.Filter) []filters.Filter {
		at := slices.IndexFunc(defaults, func(f filters.Filter) bool { return f.Name == "authorization" })
		return slices.Insert(defaults, at+1, filters.Filter{Name: "greeting", Wrap: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Greeting", "hello, "+request.UserFrom(r.Context()).Name)
				next.ServeHTTP(w, r)
			})
		}})
	}
	config, err := startServerWith(t, o).AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	var header http.Header
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil {
				header = response.Header
			}
			return response, err
		})
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.ServerVersion(); err != nil || !strings.HasPrefix(header.Get("Greeting"), "hello, ") {
		t.Errorf("%v, %v", header, err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A program provides the storage of the server, and other storages, keys and encodings of single resources.
func TestStorageOfTheProgram(t *testing.T) {
	o, all, secrets := testOptions(t.TempDir()), memory.New(), memory.New()
	t.Cleanup(func() { all.Close(); secrets.Close() })
	o.Etcd.Backend = all
	o.Etcd.Storage = map[schema.GroupResource]storageoptions.StorageOverride{
		corev1.Resource("secrets"):                                   {Backend: secrets, Prefix: "vault/secrets"},
		corev1.Resource("configmaps"):                                {MediaType: "application/json"},
		{Group: "autoscaling", Resource: "horizontalpodautoscalers"}: {Version: "v1"},
	}
	client := kubernetes.NewForConfigOrDie(startServerWith(t, o).ClientConfig())
	meta := metav1.ObjectMeta{Name: "a"}
	if _, err := client.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.AutoscalingV2().HorizontalPodAutoscalers("default").Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: meta, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 3,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "a"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if list, err := client.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("secrets: %v, %v", list, err)
	}
	for _, c := range []struct {
		backend storage.Backend
		key     string
		begins  string
	}{
		{secrets, "/registry/vault/secrets/default/a", "k8s\x00"},
		{all, "/registry/configmaps/default/a", "{"},
		{all, "/registry/namespaces/default", "k8s\x00"},
		{all, "/registry/horizontalpodautoscalers/default/a", "k8s\x00\n\x29\n\x0eautoscaling/v1"},
	} {
		if kv, err := c.backend.Get(t.Context(), c.key); err != nil || !strings.HasPrefix(string(kv.Value), c.begins) {
			t.Errorf("%s: %q, %v", c.key, kv.Value, err)
		}
	}
	if found, err := all.Range(t.Context(), storage.RangeOptions{Prefix: "/registry/secrets/"}); err != nil || len(found.Items) > 0 {
		t.Errorf("secrets in the default storage: %v, %v", found, err)
	}
}
