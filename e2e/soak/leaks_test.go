package soak

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
)

// TestLeaks creates CustomResourceDefinitions, uses and deletes them. Nothing of them stays.
func TestLeaks(t *testing.T) {
	const (
		atOnce = 10
		// perDefinition is how many bytes one that has come and gone may leave, once the server has settled:
		// what is kept of the last changes is bounded, but not filled by then when there were few.
		perDefinition, lastChanges = 2 << 10, 80 << 20
	)
	s := harness.Start(t, "--controllers=*", "--etcd-compaction-interval=5s")
	crds, err := clientset.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
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
	goroutines, heap := size(t, s, goroutineCount, "/metrics"), size(t, s, heapBytes, heapProfile)
	n := atOnce * rounds(t, 2, func(round int) { cycle(round + 1) })
	highest := s.AnonymousBytes()
	var goroutinesAfter, heapAfter int
	settled := eventually(t, 5*time.Minute, func() error {
		goroutinesAfter, heapAfter = size(t, s, goroutineCount, "/metrics"), size(t, s, heapBytes, heapProfile)
		if goroutinesAfter > goroutines+25 { // connections, and what is about to end
			return fmt.Errorf("%d goroutines before, %d after %d definitions", goroutines, goroutinesAfter, n)
		}
		if heapAfter > heap+lastChanges+n*perDefinition {
			return fmt.Errorf("%d MB in use before, %d after %d definitions", heap>>20, heapAfter>>20, n)
		}
		return nil
	})
	note(t, fmt.Sprintf("no goroutine stays; after at most 5 minutes there are at most %d KB more for each definition, and %d MB for the last changes", perDefinition>>10, lastChanges>>20),
		"%d definitions came and went; %d goroutines before, %d after; %d MB in use before, %d after %v; %d MB of memory then, %d at the end of the writes",
		n, goroutines, goroutinesAfter, heap>>20, heapAfter>>20, settled.Round(time.Second), s.AnonymousBytes()>>20,
		highest>>20)
}

// live is the life of a definition: it is created, has an object and a watch, and is deleted.
func live(ctx context.Context, crds clientset.Interface, plural string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	preserve := true
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + ".soak.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "soak.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: "K" + plural},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object",
						XPreserveUnknownFields: &preserve}}}},
		}}
	definitions := crds.ApiextensionsV1().CustomResourceDefinitions()
	if _, err := definitions.Create(ctx, crd, metav1.CreateOptions{}); err != nil {
		return err
	}
	path := "/apis/soak.example.com/v1/namespaces/default/" + plural
	object := fmt.Sprintf(`{"apiVersion":"soak.example.com/v1","kind":"K%s","metadata":{"name":"o"}}`, plural)
	client := crds.Discovery().RESTClient()
	for client.Post().AbsPath(path).Body([]byte(object)).SetHeader("Content-Type", "application/json").Do(ctx).
		Error() != nil {
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

var (
	goroutineCount = regexp.MustCompile(`(?m)^go_goroutines (\d+)`)
	heapBytes      = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)`)
)

// heapProfile says what is in use after garbage was collected.
const heapProfile = "/debug/pprof/heap"

// size finds a number in what the server says of itself.
func size(t *testing.T, s *harness.Server, of *regexp.Regexp, path string) int {
	t.Helper()
	text, err := kubernetes.NewForConfigOrDie(s.Config).RESTClient().Get().AbsPath(path).Param("gc", "1").
		Param("debug", "1").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	found := of.FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s does not say %v", path, of)
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
