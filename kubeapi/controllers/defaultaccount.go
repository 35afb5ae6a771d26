package controllers

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	restclient "k8s.io/client-go/rest"
)

// Names of the controllers that write to a new server.
const (
	accounts     = "serviceaccount-controller"
	rootCAs      = "root-ca-certificate-publisher-controller"
	serviceCIDRs = "service-cidr-controller"
)

// AwaitDefaultAccount returns when the namespace default has its service account, which pods require. It returns at
// once if the selection enables no controller that creates it.
func AwaitDefaultAccount(ctx context.Context, config *restclient.Config, selection []string) error {
	if !selected(selection, accounts) {
		return nil
	}
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return err
	}
	w, err := client.ServiceAccounts(metav1.NamespaceDefault).Watch(ctx,
		metav1.ListOptions{FieldSelector: "metadata.name=default"})
	if err != nil {
		return err
	}
	defer w.Stop()
	select {
	case e := <-w.ResultChan():
		if e.Type != watch.Added {
			return apierrors.FromObject(e.Object)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
