package kubeapi_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// discovered returns the resources that discovery lists.
func discovered(t *testing.T) []*metav1.APIResourceList {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: "http://triplane.test", Transport: startServer(t)})
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	return lists
}

// TestResources compares what discovery lists with a file, which -rewrite writes.
func TestResources(t *testing.T) {
	const file = "testdata/resources.txt"
	lists := discovered(t)
	slices.SortFunc(lists, func(a, b *metav1.APIResourceList) int { return cmp.Compare(a.GroupVersion, b.GroupVersion) })
	var got strings.Builder
	for _, list := range lists {
		fmt.Fprintln(&got, list.GroupVersion)
		for _, r := range list.APIResources {
			fmt.Fprintln(&got, "  "+described(r))
		}
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(text), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("line %d of %s should be %q", i+1, file, line)
		}
	}
	if got.Len() != len(text) {
		t.Errorf("%s has further lines", file)
	}
}

// described returns a resource in a line.
func described(r metav1.APIResource) string {
	scope := "cluster"
	if r.Namespaced {
		scope = "namespaced"
	}
	parts := []string{r.Name}
	if r.SingularName != "" {
		parts = append(parts, r.SingularName)
	}
	parts = append(parts, r.Kind, scope)
	if len(r.ShortNames) > 0 {
		parts = append(parts, "short="+strings.Join(r.ShortNames, ","))
	}
	if len(r.Categories) > 0 {
		parts = append(parts, "in="+strings.Join(r.Categories, ","))
	}
	return strings.Join(append(parts, "verbs="+strings.Join(r.Verbs, ",")), " ")
}
