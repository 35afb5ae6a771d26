// The namespace controller, and what each namespace is given.

package controllers

import (
	"fmt"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/e2e/harness"
)

// TestNamespacesAreEmptied deletes a namespace with built-in and custom objects, one
// of which a finalizer holds.
func TestNamespacesAreEmptied(t *testing.T) {
	s, client := harness.StartControlled(t)
	harness.ServeWidgets(t, s)
	ctx := t.Context()
	s.Kubectl(t, "create", "namespace", "full")
	s.Kubectl(t, "-n", "full", "create", "configmap", "m")
	s.Kubectl(t, "-n", "full", "create", "role", "r", "--verb=get", "--resource=pods")
	s.Kubectl(t, "-n", "full", "create", "service", "clusterip", "s", "--tcp=80")
	widget := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"full","finalizers":["example.com/hold"]},"spec":{"size":1}}`
	s.KubectlIn(t, widget, "apply", "-f", "-")

	s.Kubectl(t, "delete", "namespace", "full", "--wait=false")
	harness.Eventually(t, func() error {
		ns, err := client.CoreV1().Namespaces().Get(ctx, "full", metav1.GetOptions{})
		if err != nil {
			return err
		}
		want := map[corev1.NamespaceConditionType]string{
			corev1.NamespaceDeletionDiscoveryFailure: "All resources successfully discovered",
			corev1.NamespaceDeletionGVParsingFailure: "All legacy kube types successfully parsed",
			corev1.NamespaceDeletionContentFailure:   "All content successfully deleted, may be waiting on finalization",
			corev1.NamespaceContentRemaining:         "Some resources are remaining: widgets.example.com has 1 resource instances",
			corev1.NamespaceFinalizersRemaining:      "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
		}
		for _, c := range ns.Status.Conditions {
			if c.Message != want[c.Type] {
				return fmt.Errorf("condition %s: %s", c.Type, c.Message)
			}
			delete(want, c.Type)
		}
		if len(want) > 0 {
			return fmt.Errorf("no conditions %v", want)
		}
		return nil
	})
	if maps, err := client.CoreV1().ConfigMaps("full").List(ctx, metav1.ListOptions{}); err != nil ||
		len(maps.Items) != 0 {
		t.Errorf("config maps are left: %v %v", maps.Items, err)
	}
	s.Kubectl(t, "-n", "full", "patch", "widget", "w", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	harness.Gone(t, func() error {
		_, err := client.CoreV1().Namespaces().Get(ctx, "full", metav1.GetOptions{})
		return err
	})
}

// TestPodsGoFirst deletes a namespace with a pod that a finalizer holds: what guards
// the pod stays until then.
func TestPodsGoFirst(t *testing.T) {
	s, client := harness.StartControlled(t)
	ctx := t.Context()
	s.Kubectl(t, "create", "namespace", "ordered")
	s.Kubectl(t, "-n", "ordered", "create", "configmap", "m")
	harness.Eventually(t, func() error {
		_, err := client.CoreV1().ServiceAccounts("ordered").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	s.KubectlIn(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ordered","finalizers":["example.com/hold"]},
		"spec":{"containers":[{"name":"c","image":"i"}]}}`, "create", "-f", "-")
	s.Kubectl(t, "delete", "namespace", "ordered", "--wait=false")
	harness.Eventually(t, func() error {
		ns, err := client.CoreV1().Namespaces().Get(ctx, "ordered", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(ns.Status.Conditions, func(c corev1.NamespaceCondition) bool {
			return c.Type == corev1.NamespaceContentRemaining && c.Message == "Some resources are remaining: pods. has 1 resource instances"
		}) {
			return fmt.Errorf("conditions %v", ns.Status.Conditions)
		}
		return nil
	})
	if _, err := client.CoreV1().ConfigMaps("ordered").Get(ctx, "m", metav1.GetOptions{}); err != nil {
		t.Errorf("something went before the pod: %v", err)
	}
	s.Kubectl(t, "-n", "ordered", "patch", "pod", "p", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	harness.Gone(t, func() error {
		_, err := client.CoreV1().Namespaces().Get(ctx, "ordered", metav1.GetOptions{})
		return err
	})
}

// TestNamespacesHaveWhatPodsNeed looks for the account and the authority, also after
// they were deleted, and for tokens in Secrets.
func TestNamespacesHaveWhatPodsNeed(t *testing.T) {
	s, client := harness.StartControlled(t)
	ctx := t.Context()
	s.Kubectl(t, "create", "namespace", "new")
	account := func() error {
		_, err := client.CoreV1().ServiceAccounts("new").Get(ctx, "default", metav1.GetOptions{})
		return err
	}
	authority := func() error {
		m, err := client.CoreV1().ConfigMaps("new").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		if err == nil && m.Data["ca.crt"] != string(s.Config.CAData) {
			err = fmt.Errorf("another authority: %s", m.Data)
		}
		return err
	}
	harness.Eventually(t, account)
	harness.Eventually(t, authority)
	s.Kubectl(t, "-n", "new", "delete", "serviceaccount/default", "configmap/kube-root-ca.crt")
	harness.Eventually(t, account)
	harness.Eventually(t, authority)
	s.Kubectl(t, "-n", "new", "run", "pod", "--image=image")

	s.KubectlIn(t, `{"apiVersion":"v1","kind":"Secret","type":"kubernetes.io/service-account-token",
		"metadata":{"name":"token","namespace":"new","annotations":{"kubernetes.io/service-account.name":"default"}}}`,
		"create", "-f", "-")
	var token string
	harness.Eventually(t, func() error {
		secret, err := client.CoreV1().Secrets("new").Get(ctx, "token", metav1.GetOptions{})
		if err == nil && (len(secret.Data["token"]) == 0 || len(secret.Data["ca.crt"]) == 0 ||
			string(secret.Data["namespace"]) != "new") {
			err = fmt.Errorf("incomplete: %v", secret.Data)
		}
		if err == nil {
			token = string(secret.Data["token"])
		}
		return err
	})
	review, err := client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil || review.Status.User.Username != "system:serviceaccount:new:default" {
		t.Errorf("the token is of %v, %v", review.Status, err)
	}
	s.Kubectl(t, "-n", "new", "delete", "serviceaccount/default")
	harness.Gone(t, func() error {
		_, err := client.CoreV1().Secrets("new").Get(ctx, "token", metav1.GetOptions{})
		return err
	})
}
