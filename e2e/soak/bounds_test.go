package soak

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"triplane/e2e/harness"
)

// slowReaders is how many watches nobody reads from.
const slowReaders = 20

// TestOverload overwrites large objects while watches of them are open that nobody reads from. The
// memory of the server is bounded, whatever was written.
func TestOverload(t *testing.T) {
	s := harness.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	transport, err := rest.TransportFor(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	for range slowReaders {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Config.Host+"/api/v1/namespaces/default/configmaps?watch=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
	}
	maps := kubernetes.NewForConfigOrDie(s.Config).CoreV1().ConfigMaps("default")
	var written, highest int64
	rounds(t, 20, func(round int) {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large-%d", round%4)}, Data: map[string]string{"v": strings.Repeat(strconv.Itoa(round%10), 900_000)}}
		_, err := maps.Update(ctx, c, metav1.UpdateOptions{})
		if err != nil {
			_, err = maps.Create(ctx, c, metav1.CreateOptions{})
		}
		if err != nil {
			t.Error(err)
		}
		written += int64(len(c.Data["v"]))
		highest = max(highest, anonymous(t, s))
	})
	if limit := int64(900 << 20); highest > limit {
		t.Errorf("it takes %d MB, after %d MB were written", highest>>20, written>>20)
	}
	note(t, "%d MB written beside %d watches that nobody reads; at most %d MB of memory", written>>20, slowReaders, highest>>20)
}

// anonymous is the memory of the server in bytes, without the files that are mapped: the database is
// as large as its history.
func anonymous(t *testing.T, s *harness.Server) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "RssAnon:")
	fields := strings.Fields(after)
	if len(fields) == 0 {
		t.Fatal("the system does not say how much memory is anonymous")
	}
	kilobytes, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// TestLeaks creates CustomResourceDefinitions, uses and deletes them. Nothing of them stays.
func TestLeaks(t *testing.T) {
	s := harness.Start(t, "--controllers=*")
	crds, err := clientset.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	const atOnce = 10
	cycle := func(round int) {
		var all sync.WaitGroup
		for i := range atOnce {
			all.Go(func() {
				if err := live(t.Context(), crds, fmt.Sprintf("r%dx%d", round, i)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	cycle(0) // what is made once
	before := goroutines(t, s)
	n := rounds(t, 2, func(round int) { cycle(round + 1) })
	limit := before + 25 // connections, and what is about to end
	var after int
	for late := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if after = goroutines(t, s); after <= limit {
			break
		}
		if time.Now().After(late) {
			t.Errorf("%d goroutines before, %d after %d definitions", before, after, n*atOnce)
			break
		}
	}
	resident, err := s.ResidentBytes()
	if err != nil {
		t.Fatal(err)
	}
	note(t, "%d definitions came and went; %d goroutines before, %d after; %d MB of memory", n*atOnce, before, after, resident>>20)
}

// live is the life of a definition: it is created, has an object and a watch, and is deleted.
func live(ctx context.Context, crds clientset.Interface, plural string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	preserve := true
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + ".soak.example.com"}, Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "soak.example.com", Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: "K" + plural},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}}}},
	}}
	definitions := crds.ApiextensionsV1().CustomResourceDefinitions()
	if _, err := definitions.Create(ctx, crd, metav1.CreateOptions{}); err != nil {
		return err
	}
	path := "/apis/soak.example.com/v1/namespaces/default/" + plural
	object := fmt.Sprintf(`{"apiVersion":"soak.example.com/v1","kind":"K%s","metadata":{"name":"o"}}`, plural)
	client := crds.Discovery().RESTClient()
	for client.Post().AbsPath(path).Body([]byte(object)).SetHeader("Content-Type", "application/json").Do(ctx).Error() != nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not served", plural)
		case <-time.After(20 * time.Millisecond):
		}
	}
	stream, err := client.Get().AbsPath(path).Param("watch", "1").Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }() // it is read only
	if err := definitions.Delete(ctx, crd.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	// The watch ends with the definition.
	if _, err := io.Copy(io.Discard, stream); err != nil && ctx.Err() != nil {
		return fmt.Errorf("the watch of %s goes on: %w", plural, err)
	}
	return nil
}

var goroutineCount = regexp.MustCompile(`(?m)^go_goroutines (\d+)`)

func goroutines(t *testing.T, s *harness.Server) int {
	t.Helper()
	metrics, err := kubernetes.NewForConfigOrDie(s.Config).RESTClient().Get().AbsPath("/metrics").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	found := goroutineCount.FindSubmatch(metrics)
	if found == nil {
		t.Fatal("the metrics do not say how many goroutines there are")
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
