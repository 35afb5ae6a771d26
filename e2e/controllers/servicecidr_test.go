// A ServiceCIDR extends a full range of cluster IPs.

package controllers

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
)

// A full range of cluster IPs is extended by a ServiceCIDR, which stays until none of its
// IPs is in use.
func TestMoreClusterIPs(t *testing.T) {
	s := harness.Start(t, "--service-cluster-ip-range=10.96.0.0/29", "--controllers=service-cidr-controller")
	client, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	services, cidrs := client.CoreV1().Services("default"), client.NetworkingV1().ServiceCIDRs()
	create := func(name string) (*corev1.Service, error) {
		return services.Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
	}
	for i := range 5 { // kubernetes has the sixth
		if _, err := create(fmt.Sprintf("first-%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := create("second"); err == nil {
		t.Fatal("the range is not full")
	}
	more := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "more"},
		Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.97.0.0/28"}}}
	if _, err := cidrs.Create(t.Context(), more, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, func() error {
		_, err := create("second")
		return err
	})
	second, err := services.Get(t.Context(), "second", metav1.GetOptions{})
	if err != nil || !netip.MustParsePrefix("10.97.0.0/28").Contains(netip.MustParseAddr(second.Spec.ClusterIP)) {
		t.Fatalf("%v, %v", second.Spec, err)
	}

	if err := cidrs.Delete(t.Context(), "more", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, func() error {
		got, err := cidrs.Get(t.Context(), "more", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ready := apimeta.FindStatusCondition(got.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
		if ready == nil || ready.Status != metav1.ConditionFalse ||
			ready.Reason != networkingv1.ServiceCIDRReasonTerminating {
			return fmt.Errorf("it is %+v", got.Status)
		}
		return nil
	})
	if _, err := create("third"); err == nil {
		t.Error("a range that is about to go is still allocated from")
	}
	if err := services.Delete(t.Context(), "second", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, func() error {
		if _, err := cidrs.Get(t.Context(), "more", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is still there: %w", err)
		}
		return nil
	})
	standard, err := cidrs.Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || !slices.Contains(standard.Finalizers, "networking.k8s.io/service-cidr-finalizer") {
		t.Errorf("%+v, %v", standard, err)
	}

	// The range of the command line is given up like any other.
	other := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "other"},
		Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.98.0.0/28"}}}
	if _, err := cidrs.Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := services.Delete(t.Context(), "first-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := cidrs.Delete(t.Context(), "kubernetes", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	var fourth *corev1.Service
	harness.Eventually(t, func() error {
		fourth, err = create("fourth")
		return err
	})
	if !netip.MustParsePrefix("10.98.0.0/28").Contains(netip.MustParseAddr(fourth.Spec.ClusterIP)) {
		t.Errorf("%s is of a range that is about to go", fourth.Spec.ClusterIP)
	}
}
