// Each kind of client in each content type that it knows, with and without CBOR.

package clients

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"triplane.dev/e2e/harness"
)

const (
	jsonType     = "application/json"
	protobufType = "application/vnd.kubernetes.protobuf"
	cborType     = "application/cbor"
	cborSequence = "application/cbor-seq"
)

// TestContentTypes drives a server that speaks CBOR with every kind of client in
// every content type that the client knows.
func TestContentTypes(t *testing.T) {
	clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, true)
	s := harness.Start(t, "--feature-gates=CBORServingAndStorage=true")
	harness.ServeWidgets(t, s)
	s.Kubectl(t, "create", "serviceaccount", "default") // no controller makes it here
	for _, contentType := range []string{jsonType, protobufType, cborType} {
		t.Run(contentType, func(t *testing.T) {
			if contentType == cborType {
				preferCBOR(t)
			}
			seen := newTypesSeen(s.Config)
			config := seen.config
			config.ContentType, config.AcceptContentTypes = contentType, contentType
			t.Run("typed", func(t *testing.T) {
				typedVerbs(t, kubernetes.NewForConfigOrDie(config))
				seen.only(t, contentType)
			})
			t.Run("typed informer", func(t *testing.T) {
				client := kubernetes.NewForConfigOrDie(config)
				f := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
				follow(t, s, configMaps, f.Core().V1().ConfigMaps().Informer())
				seen.only(t, contentType)
			})
			t.Run("metadata", func(t *testing.T) {
				client := metadata.NewForConfigOrDie(seen.config)
				metadataVerbs(t, s, client)
				follow(t, s, harness.Widgets,
					metadatainformer.NewSharedInformerFactory(client, 0).ForResource(harness.Widgets).Informer())
				follow(t, s, configMaps, metadatainformer.NewFilteredSharedInformerFactory(client, 0, "default", nil).
					ForResource(configMaps).Informer())
			})
			if contentType == protobufType {
				return // dynamic clients have no protobuf
			}
			seen.reset()
			t.Run("dynamic", func(t *testing.T) {
				client := dynamic.NewForConfigOrDie(seen.config)
				dynamicVerbs(t, client, true)
				for _, gvr := range []schema.GroupVersionResource{configMaps, harness.Widgets} {
					f := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, "default", nil)
					follow(t, s, gvr, f.ForResource(gvr).Informer())
				}
				seen.only(t, contentType)
			})
		})
	}
}

// TestCBORFallsBack drives a server that does not speak CBOR with clients that
// would rather.
func TestCBORFallsBack(t *testing.T) {
	s := harness.Start(t)
	harness.ServeWidgets(t, s)
	preferCBOR(t)
	seen := newTypesSeen(s.Config)
	client := dynamic.NewForConfigOrDie(seen.config)
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"generateName": "x-"}}}
	if _, err := client.Resource(configMaps).Namespace("default").Create(t.Context(), obj,
		metav1.CreateOptions{}); !apierrors.IsUnsupportedMediaType(err) {
		t.Errorf("the first CBOR body: %v", err)
	}
	dynamicVerbs(t, client, false) // clients never apply in another type than they prefer
	f := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, "default", nil)
	follow(t, s, harness.Widgets, f.ForResource(harness.Widgets).Informer())
	seen.only(t, jsonType)

	config := rest.CopyConfig(s.Config)
	config.AcceptContentTypes = cborType
	_, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").Get(t.Context(), "kube-root-ca.crt",
		metav1.GetOptions{})
	if !apierrors.IsNotAcceptable(err) {
		t.Errorf("CBOR alone: %v", err)
	}
}

func preferCBOR(t *testing.T) {
	clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.ClientsAllowCBOR, true)
	clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.ClientsPreferCBOR, true)
}

// typedVerbs uses every verb of a typed client.
func typedVerbs(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	ctx, pods := t.Context(), client.CoreV1().Pods("default")
	typedClient(t, client)
	seconds := int64(30)
	created, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "typed-", Labels: map[string]string{"of": "typed"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i:1"}},
			TerminationGracePeriodSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	created.Annotations = map[string]string{"n": "ü \U0001F600"}
	updated, err := pods.Update(ctx, created, metav1.UpdateOptions{})
	if err != nil || updated.Annotations["n"] != "ü \U0001F600" ||
		!updated.CreationTimestamp.Equal(&created.CreationTimestamp) {
		t.Fatalf("updated %v, %v", updated, err)
	}
	updated.Status.Phase = corev1.PodRunning
	if _, err := pods.UpdateStatus(ctx, updated, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	applied, err := pods.Apply(ctx, corev1apply.Pod(created.Name, "default").
		WithLabels(map[string]string{"applied": "yes"}), metav1.ApplyOptions{FieldManager: "e2e"})
	if err != nil || applied.Labels["applied"] != "yes" || applied.Labels["of"] != "typed" {
		t.Fatalf("applied %v, %v", applied, err)
	}
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "of=typed", Limit: 1})
	if err != nil || len(list.Items) != 1 || list.Items[0].Status.Phase != corev1.PodRunning ||
		list.Items[0].ManagedFields == nil {
		t.Fatalf("listed %v, %v", list, err)
	}
	zero := int64(0)
	if err := pods.Delete(ctx, created.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero,
		Preconditions: metav1.NewUIDPreconditions(string(created.UID))}); err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Get(ctx, created.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("after the deletion: %v", err)
	}
	if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "of=typed"}); err != nil {
		t.Fatal(err)
	}
}

// dynamicVerbs uses every verb of a dynamic client on a built-in kind and on a
// custom resource.
func dynamicVerbs(t *testing.T, client dynamic.Interface, apply bool) {
	t.Helper()
	for gvr, content := range map[schema.GroupVersionResource]map[string]any{
		configMaps:      {"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"k": "v"}},
		harness.Widgets: {"apiVersion": "example.com/v1", "kind": "Widget", "spec": map[string]any{"size": int64(3)}},
	} {
		ctx, r := t.Context(), client.Resource(gvr).Namespace("default")
		obj := (&unstructured.Unstructured{Object: content}).DeepCopy()
		obj.SetGenerateName("dynamic-")
		created, err := r.Create(ctx, obj, metav1.CreateOptions{FieldValidation: "Strict"})
		if err != nil {
			t.Fatal(gvr, err)
		}
		created.SetLabels(map[string]string{"a": "b"})
		if created, err = r.Update(ctx, created, metav1.UpdateOptions{}); err != nil {
			t.Fatal(gvr, err)
		}
		if apply {
			dynamicApply(t, r, created)
		}
		patched, err := r.Patch(ctx, created.GetName(), types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"c":"d"}}}`), metav1.PatchOptions{})
		if err != nil || patched.GetLabels()["c"] != "d" || len(patched.GetManagedFields()) == 0 {
			t.Fatal(gvr, patched, err)
		}
		list, err := r.List(ctx, metav1.ListOptions{LabelSelector: "c=d"})
		if err != nil || len(list.Items) != 1 || list.Items[0].GetName() != created.GetName() ||
			list.GetResourceVersion() == "" {
			t.Fatal(gvr, list, err)
		}
		if size, ok, _ := unstructured.NestedInt64(list.Items[0].Object, "spec", "size"); gvr == harness.Widgets &&
			(!ok || size != 3) {
			t.Errorf("a size of 3 came back as %v", list.Items[0].Object["spec"])
		}
		background := metav1.DeletePropagationBackground
		if err := r.Delete(ctx, created.GetName(), metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
			t.Fatal(gvr, err)
		}
	}
}

func dynamicApply(t *testing.T, r dynamic.ResourceInterface, created *unstructured.Unstructured) {
	t.Helper()
	config := &unstructured.Unstructured{Object: map[string]any{"apiVersion": created.GetAPIVersion(),
		"kind": created.GetKind()}}
	config.SetName(created.GetName())
	config.SetAnnotations(map[string]string{"applied": "yes"})
	applied, err := r.Apply(t.Context(), created.GetName(), config, metav1.ApplyOptions{FieldManager: "e2e"})
	if err != nil || applied.GetAnnotations()["applied"] != "yes" || applied.GetLabels()["a"] != "b" {
		t.Fatal(applied, err)
	}
}

// metadataVerbs uses every verb of a metadata client.
func metadataVerbs(t *testing.T, s *harness.Server, client metadata.Interface) {
	t.Helper()
	makeObject(t, s, harness.Widgets, "meta")
	ctx, r := t.Context(), client.Resource(harness.Widgets).Namespace("default")
	got, err := r.Patch(ctx, "meta", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"meta"}}}`),
		metav1.PatchOptions{})
	if err != nil || got.Labels["a"] != "meta" {
		t.Fatal(got, err)
	}
	list, err := r.List(ctx, metav1.ListOptions{LabelSelector: "a=meta"})
	if err != nil || len(list.Items) != 1 || list.Items[0].UID != got.UID {
		t.Fatal(list, err)
	}
	if err := r.Delete(ctx, "meta", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get(ctx, "meta", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// makeObject makes a config map or a widget with kubectl's kind of client.
func makeObject(t *testing.T, s *harness.Server, gvr schema.GroupVersionResource, name string) {
	t.Helper()
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
	if gvr == harness.Widgets {
		text = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: " + name + "}\nspec: {size: 1}\n"
	}
	s.KubectlIn(t, text, "apply", "-n", "default", "-f", "-")
}

// follow runs an informer and holds what it reports against what is done.
func follow(t *testing.T, s *harness.Server, gvr schema.GroupVersionResource, informer cache.SharedIndexInformer) {
	t.Helper()
	makeObject(t, s, gvr, "before")
	var mu sync.Mutex
	var events []string
	note := func(what string, obj any) {
		name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
		if err != nil || !strings.HasPrefix(name, "default/before") && !strings.HasPrefix(name, "default/after") {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		events = append(events, what+" "+strings.TrimPrefix(name, "default/"))
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { note("added", obj) }, UpdateFunc: func(_, obj any) { note("updated", obj) },
		DeleteFunc: func(obj any) { note("deleted", obj) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	defer running.Wait()
	defer stop()
	if deadline, cancel := context.WithTimeout(ctx, 20*time.Second); !cache.WaitForCacheSync(deadline.Done(),
		informer.HasSynced) {
		cancel()
		t.Fatalf("the informer of %s is not in step", gvr.Resource)
	} else {
		cancel()
	}
	makeObject(t, s, gvr, "after")
	s.Kubectl(t, "annotate", gvr.GroupResource().String(), "before", "-n", "default", "x=y")
	s.Kubectl(t, "delete", gvr.GroupResource().String(), "before", "after", "-n", "default")
	want := []string{"added before", "added after", "updated before", "deleted before", "deleted after"}
	harness.Eventually(t, func() error {
		mu.Lock()
		defer mu.Unlock()
		if fmt.Sprint(events) != fmt.Sprint(want) {
			return fmt.Errorf("%s: events %q, want %q", gvr.Resource, events, want)
		}
		return nil
	})
	if _, err := cache.NewGenericLister(informer.GetIndexer(), gvr.GroupResource()).
		List(labels.Everything()); err != nil {
		t.Error(err)
	}
}

// typesSeen notes the content types of answers.
type typesSeen struct {
	config *rest.Config
	mu     sync.Mutex
	types  map[string]bool
}

func newTypesSeen(base *rest.Config) *typesSeen {
	s := &typesSeen{config: rest.CopyConfig(base), types: map[string]bool{}}
	s.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			w, err := next.RoundTrip(r)
			if err == nil && w.StatusCode < 300 {
				s.mu.Lock()
				defer s.mu.Unlock()
				name, _, _ := mime.ParseMediaType(w.Header.Get("Content-Type"))
				s.types[name] = true
			}
			return w, err
		})
	})
	return s
}

func (s *typesSeen) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.types)
}

// only fails the test if answers came in another type.
func (s *typesSeen) only(t *testing.T, contentType string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.types[contentType] {
		t.Errorf("no answer was %s: %v", contentType, s.types)
	}
	for name := range s.types {
		if name != contentType && (contentType != cborType || name != cborSequence) {
			t.Errorf("an answer was %s", name)
		}
	}
	if contentType == cborType && !s.types[cborSequence] {
		t.Error("no watch was a CBOR sequence")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
