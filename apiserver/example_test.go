package apiserver_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"

	"triplane.dev/apiserver"
	"triplane.dev/generic/serve/server"
)

// Tree is an example kind.
type Tree struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              TreeSpec   `json:"spec"`
	Status            TreeStatus `json:"status,omitempty"`
}

// TreeSpec is the spec of a tree.
type TreeSpec struct {
	Species string `json:"species" doc:"What is planted."`
	Height  int32  `json:"height,omitempty" doc:"How tall it is to grow, in metres."`
}

// TreeStatus is the status of a tree.
type TreeStatus struct {
	Rings int32 `json:"rings,omitempty" doc:"How many years it has lived."`
}

// DeepCopyObject implements runtime.Object.
func (t *Tree) DeepCopyObject() runtime.Object { return apiserver.DeepCopy(t) }

var forest = schema.GroupVersion{Group: "forest.example.com", Version: "v1"}

// trees declares the kind.
func trees() apiserver.Kind[*Tree] {
	return apiserver.Kind[*Tree]{
		Hub: forest.WithKind("Tree"), Namespaced: true,
		Names: apiserver.Names{ShortNames: []string{"tr"}},
		Write: apiserver.Write[*Tree]{
			Default: func(t *Tree) {
				if t.Spec.Height == 0 {
					t.Spec.Height = 10
				}
			},
			Validate:         apiserver.Whole(validate),
			CountsGeneration: true,
		},
		Columns: []apiserver.Column{apiserver.NameColumn(), {Field: "spec.species"}, {Field: "status.rings"},
			apiserver.AgeColumn()},
		Select: apiserver.Select[*Tree]{Fields: []apiserver.SelectableField[*Tree]{{Path: "spec.species"}}},
		Status: &apiserver.Subresource[*Tree]{Metadata: apiserver.ClientMetadata},
	}
}

func validate(t *Tree) field.ErrorList {
	if t.Spec.Height < 0 {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "height"), t.Spec.Height, "must not be negative")}
	}
	return nil
}

// forester declares the server. The main function of a program calls apiserver.Main(forester()).
func forester() apiserver.Server {
	return apiserver.Server{
		Name: "forester",
		Groups: []apiserver.Group{{
			Name: forest.Group, Versions: []string{forest.Version},
			Resources:      []apiserver.Resource{apiserver.NewResource(trees())},
			PostStartHooks: []server.PostStartHook{{Name: "plant-the-first-tree", Func: plant}},
		}},
		Install: func(s *server.GenericAPIServer) error {
			s.Handler.NonGoRestfulMux.Handle("/greeting", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintln(w, "hello from the forest")
			}))
			return nil
		},
	}
}

// plant is a post-start hook: the server is ready after it has returned.
func plant(hook server.HookContext) error {
	client, err := dynamic.NewForConfig(hook.LoopbackClientConfig)
	if err != nil {
		return err
	}
	oak := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": forest.String(), "kind": "Tree", "metadata": map[string]any{"name": "oak"}, "spec": map[string]any{"species": "quercus"},
	}}
	_, err = client.Resource(forest.WithResource("trees")).Namespace("grove").Create(hook, oak, metav1.CreateOptions{})
	return err
}

// An API server with a kind, a hook and an additional path, in a test or a program.
func Example() {
	dir, err := os.MkdirTemp("", "forester")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()

	s := forester()
	options := apiserver.NewOptions(&s)
	options.DataDir = dir
	options.Standalone = true // behind a cluster's API server this is left out
	options.SecureServing.BindPort = 0
	ctx := context.Background()
	running, err := apiserver.Start(ctx, &s, options) // returns when it is ready
	check(err)

	client, err := dynamic.NewForConfig(running.ClientConfig())
	check(err)
	grove := client.Resource(forest.WithResource("trees")).Namespace("grove")
	oak, err := grove.Get(ctx, "oak", metav1.GetOptions{})
	check(err)
	fmt.Println(oak.Object["spec"], oak.GetGeneration())
	oak.Object["spec"].(map[string]any)["height"] = int64(-1)
	_, err = grove.Update(ctx, oak, metav1.UpdateOptions{})
	fmt.Println(err)
	check(running.Stop())
	// Output:
	// map[height:10 species:quercus] 1
	// Tree.forest.example.com "oak" is invalid: spec.height: Invalid value: -1: must not be negative
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
