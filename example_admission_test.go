package triplane_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"triplane.dev"
	"triplane.dev/generic/guard/admission"
)

// owned rejects config maps in namespaces without the label "team".
type owned struct{ namespaces corelisters.NamespaceLister }

func (owned) Handles(op admission.Operation) bool { return op == admission.Create }

func (o owned) Validate(_ context.Context, a *admission.Attributes) error {
	if a.Resource.Resource != "configmaps" {
		return nil
	}
	ns, err := o.namespaces.Get(a.Namespace)
	if err != nil || ns.Labels["team"] == "" {
		return admission.NewForbidden(a, errors.New("nobody owns the namespace"))
	}
	return nil
}

// A program's plugin with an informer of namespaces. Users enable and disable it by name, and configure it with
// --admission-control-config-file.
func ExampleOptions_AddAdmissionPlugins() {
	dir, err := os.MkdirTemp("", "triplane")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()

	options := triplane.NewOptions()
	options.DataDir = dir
	options.SecureServing.BindPort = 0
	options.AddAdmissionPlugins(admission.Plugin{
		Name: "Owned", OnByDefault: true,
		New: func(needs admission.Needs) (admission.Interface, error) {
			core, err := kubernetes.NewForConfig(needs.Core)
			if err != nil {
				return nil, err
			}
			all := cache.NewListWatchFromClient(core.CoreV1().RESTClient(), "namespaces", "", fields.Everything())
			informer := cache.NewSharedIndexInformer(all, &corev1.Namespace{}, 0, nil)
			needs.Go(informer.RunWithContext)
			return owned{corelisters.NewNamespaceLister(informer.GetIndexer())}, nil
		},
	})
	ctx := context.Background()
	srv, err := triplane.Start(ctx, options)
	check(err)

	client, err := kubernetes.NewForConfig(srv.ClientConfig())
	check(err)
	_, err = client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	fmt.Println(err)
	check(srv.Stop())
	// Output:
	// configmaps "a" is forbidden: nobody owns the namespace
}
