package triplane_test

import (
	"context"
	"fmt"
	"log"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev"
)

// A server with its data in a temporary directory. Several servers can run in one process.
func Example() {
	dir, err := os.MkdirTemp("", "triplane")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()

	options := triplane.NewOptions()
	options.DataDir = dir
	options.SecureServing.BindPort = 0 // a free one
	ctx := context.Background()
	srv, err := triplane.Start(ctx, options) // returns when it is ready
	check(err)

	client, err := kubernetes.NewForConfig(srv.ClientConfig())
	check(err)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	_, err = client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	check(err)
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	check(err)
	for _, n := range list.Items {
		fmt.Println(n.Name, n.Status.Phase)
	}
	check(srv.Stop())
	// Output:
	// default Active
	// kube-node-lease Active
	// kube-public Active
	// kube-system Active
	// shop Active
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
