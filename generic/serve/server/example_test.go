package server_test

import (
	"context"
	"fmt"
	"log"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/run/storageoptions"
	"triplane.dev/generic/serve/server"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/embedded"
)

// Tree is an example kind.
type Tree struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Height            int32 `json:"height"`
}

// TreeList is a list of trees.
type TreeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Tree `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (t *Tree) DeepCopyObject() runtime.Object {
	c := *t
	c.ObjectMeta = *t.ObjectMeta.DeepCopy()
	return &c
}

// DeepCopyObject implements runtime.Object.
func (l *TreeList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = make([]Tree, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopyObject().(*Tree)
	}
	return &c
}

var forest = schema.GroupVersion{Group: "forest.example.com", Version: "v1"}

// trees declares the kind; nil functions select the defaults.
func trees() *kind.Kind[*Tree] {
	return &kind.Kind[*Tree]{
		Hub: forest.WithKind("Tree"), Namespaced: true,
		New:     func() *Tree { return &Tree{} },
		NewList: func() runtime.Object { return &TreeList{} },
		Names:   kind.Names{Plural: "trees", Singular: "tree"},
		Write: kind.Write[*Tree]{
			Validate: func(_ context.Context, t, _ *Tree) field.ErrorList {
				if t.Height <= 0 {
					return field.ErrorList{field.Invalid(field.NewPath("height"), t.Height, "must be greater than 0")}
				}
				return nil
			},
		},
	}
}

// An API server with one additional kind, on an embedded etcd. Clients in the process call its handler directly;
// config.Serving would make it listen.
func Example() {
	dir, err := os.MkdirTemp("", "forest")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()
	ctx, stop := context.WithCancel(context.Background())

	etcd, err := embedded.Start(ctx, embedded.Config{Dir: dir})
	check(err)
	mux := cache.NewMultiplexer(etcd.Backend(), "/registry")
	followed := make(chan error, 1)
	go func() { followed <- mux.Run(ctx) }()

	config := server.NewConfig()
	config.RESTOptionsGetter = storageoptions.NewEtcd().RESTOptionsGetter(storageoptions.Stores{Default: storageoptions.Store{Backend: etcd.Backend(), Multiplexer: mux}})
	forester, err := config.Complete().New("forester", server.EmptyDelegate())
	check(err)

	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(forest, &Tree{}, &TreeList{})
	metav1.AddToGroupVersion(scheme, forest)
	storage, err := config.RESTOptionsGetter.GetRESTOptions(schema.GroupResource{Group: forest.Group, Resource: "trees"})
	check(err)
	store, err := registry.NewStore(trees(), scheme, storage)
	check(err)
	check(forester.InstallAPIGroups(&server.APIGroupInfo{
		PrioritizedVersions:          []schema.GroupVersion{forest},
		VersionedResourcesStorageMap: map[string]map[string]*rest.Resource{forest.Version: store.Resources(forest)},
		Scheme:                       scheme,
	}))

	prepared := forester.PrepareRun()
	ended := make(chan error, 1)
	go func() { ended <- prepared.Run(ctx) }()
	<-prepared.HooksDone()

	client, err := dynamic.NewForConfig(config.LoopbackClientConfig)
	check(err)
	tree := func(name string, height int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": forest.String(), "kind": "Tree", "metadata": map[string]any{"name": name}, "height": height,
		}}
	}
	grove := client.Resource(forest.WithResource("trees")).Namespace("grove")
	_, err = grove.Create(ctx, tree("oak", 20), metav1.CreateOptions{})
	check(err)
	_, err = grove.Create(ctx, tree("shrub", 0), metav1.CreateOptions{})
	fmt.Println(err)
	list, err := grove.List(ctx, metav1.ListOptions{})
	check(err)
	for _, t := range list.Items {
		fmt.Println(t.GetName(), t.Object["height"])
	}

	stop()
	check(<-ended)
	<-followed //nolint:errcheck // it is the error of a context that has ended
	check(etcd.Close())
	// Output:
	// Tree.forest.example.com "shrub" is invalid: height: Invalid value: 0: must be greater than 0
	// oak 20
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
