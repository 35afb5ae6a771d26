package transfer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
)

// resource is a resource that a server stores.
type resource struct {
	schema.GroupVersionResource
	namespaced bool
	// status is whether it has the subresource status.
	status bool
}

func (r resource) String() string { return r.GroupResource().String() }

// server has the clients of the server to read from or write to.
type server struct {
	discovery discovery.DiscoveryInterface
	objects   dynamic.Interface
}

func connect(config *restclient.Config) (*server, error) {
	config = restclient.CopyConfig(config)
	config.QPS, config.UserAgent = -1, "triplane-transfer"
	config.WarningHandler = restclient.NoWarnings{}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	return &server{d, objects}, err
}

// resources returns the resources that can be listed and created, in the preferred versions, sorted. Discovery of
// groups of other servers may fail.
func (s *server) resources(elsewhere map[string]bool) ([]resource, error) {
	lists, err := discovery.ServerPreferredResources(s.discovery)
	failed, _ := discovery.GroupDiscoveryFailedErrorGroups(err)
	maps.DeleteFunc(failed, func(gv schema.GroupVersion, _ error) bool { return elsewhere[gv.Group] })
	if err != nil && (failed == nil || len(failed) > 0) {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	found := map[schema.GroupResource]resource{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "create") {
				found[gv.WithResource(r.Name).GroupResource()] = resource{GroupVersionResource: gv.WithResource(r.Name),
					namespaced: r.Namespaced}
			}
		}
	}
	sorted := slices.Collect(maps.Values(found))
	slices.SortFunc(sorted, func(a, b resource) int { return strings.Compare(a.String(), b.String()) })
	return sorted, nil
}

// served returns the resources by kind, in all versions.
func (s *server) served() (map[schema.GroupVersionKind]resource, error) {
	_, lists, err := s.discovery.ServerGroupsAndResources()
	if err != nil && len(lists) == 0 {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	found := map[schema.GroupVersionKind]resource{}
	statuses := map[schema.GroupVersionResource]bool{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			name, subresource, _ := strings.Cut(r.Name, "/")
			switch {
			case subresource == "status":
				statuses[gv.WithResource(name)] = slices.Contains(r.Verbs, "update")
			case subresource == "" && slices.Contains(r.Verbs, "create"):
				found[gv.WithKind(r.Kind)] = resource{GroupVersionResource: gv.WithResource(name),
					namespaced: r.Namespaced}
			}
		}
	}
	for kind, r := range found {
		r.status = statuses[r.GroupVersionResource]
		found[kind] = r
	}
	return found, nil
}

// elsewhere returns the groups that other servers store (APIServices that refer to Services).
func (s *server) elsewhere(ctx context.Context) (map[string]bool, error) {
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	list, err := s.objects.Resource(services).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	groups := map[string]bool{}
	for i := range list.Items {
		if _, found, _ := unstructured.NestedMap(list.Items[i].Object, "spec", "service"); found {
			group, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "group")
			groups[group] = true
		}
	}
	return groups, nil
}
