// Two replicas share cluster IPs, node ports and quota under concurrent creations.

package replicas

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
)

// TestReplicasShareAllocation creates Services through two replicas at once, on
// ranges so small that they meet all the time: nothing is handed out twice, and
// what is given back can be had again.
func TestReplicasShareAllocation(t *testing.T) {
	etcd := harness.StartEtcd(t)
	args := []string{"--etcd-servers", etcd, "--service-cluster-ip-range", "10.96.0.0/25", "--service-node-port-range",
		"31000-31099"}
	var clients []*kubernetes.Clientset
	for range 2 {
		clients = append(clients, kubernetes.NewForConfigOrDie(harness.Start(t, args...).Config))
	}
	const writers, each = 4, 10
	createAll(t, clients, writers, each)
	services := allServices(t, clients[0])
	if len(services) != len(clients)*writers*each {
		t.Fatalf("there are %d services, want %d", len(services), len(clients)*writers*each)
	}
	checkDistinct(t, services)
	checkAddresses(t, clients[1], services)

	var wg sync.WaitGroup
	for i := range services {
		wg.Go(func() {
			s := &services[i]
			if err := clients[i%2].CoreV1().Services(s.Namespace).Delete(t.Context(), s.Name,
				metav1.DeleteOptions{}); err != nil {
				t.Errorf("deleting %s: %v", s.Name, err)
			}
		})
	}
	wg.Wait()
	// All fit once more only if everything was given back.
	createAll(t, clients, writers, each)
	services = allServices(t, clients[1])
	checkDistinct(t, services)
	checkAddresses(t, clients[0], services)
}

func createAll(t *testing.T, clients []*kubernetes.Clientset, writers, each int) {
	t.Helper()
	var wg sync.WaitGroup
	for c, client := range clients {
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					s := &corev1.Service{
						ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s-%d-%d-%d", c, w, i)},
						Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort,
							Ports: []corev1.ServicePort{{Port: 80}}},
					}
					if _, err := client.CoreV1().Services("default").Create(t.Context(), s,
						metav1.CreateOptions{}); err != nil {
						t.Errorf("creating %s: %v", s.Name, err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
}

// allServices are those that the test made.
func allServices(t *testing.T, client *kubernetes.Clientset) []corev1.Service {
	t.Helper()
	list, err := client.CoreV1().Services("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var made []corev1.Service
	for _, s := range list.Items {
		if strings.HasPrefix(s.Name, "s-") {
			made = append(made, s)
		}
	}
	return made
}

func checkDistinct(t *testing.T, services []corev1.Service) {
	t.Helper()
	ips, ports := map[string]string{}, map[int32]string{}
	for _, s := range services {
		if other, ok := ips[s.Spec.ClusterIP]; ok || s.Spec.ClusterIP == "" {
			t.Errorf("%s has IP %q, as has %q", s.Name, s.Spec.ClusterIP, other)
		}
		ips[s.Spec.ClusterIP] = s.Name
		port := s.Spec.Ports[0].NodePort
		if other, ok := ports[port]; ok || port < 31000 || port > 31099 {
			t.Errorf("%s has node port %d, as has %q", s.Name, port, other)
		}
		ports[port] = s.Name
	}
}

// checkAddresses looks for the IPAddress of each Service, and for none too many.
func checkAddresses(t *testing.T, client *kubernetes.Clientset, services []corev1.Service) {
	t.Helper()
	list, err := client.NetworkingV1().IPAddresses().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owners := map[string]string{}
	for _, a := range list.Items {
		owners[a.Name] = a.Spec.ParentRef.Name
	}
	for _, s := range services {
		if owners[s.Spec.ClusterIP] != s.Name {
			t.Errorf("IP %s of %s belongs to %q", s.Spec.ClusterIP, s.Name, owners[s.Spec.ClusterIP])
		}
	}
	if want := len(services) + 1; len(list.Items) != want { // and the Service "kubernetes"
		t.Errorf("there are %d IPAddresses, want %d", len(list.Items), want)
	}
}

// TestReplicasShareQuota creates objects through two replicas at once: together
// they get as many as the quota allows.
func TestReplicasShareQuota(t *testing.T) {
	etcd := harness.StartEtcd(t)
	var clients []*kubernetes.Clientset
	for range 2 {
		clients = append(clients, kubernetes.NewForConfigOrDie(harness.Start(t, "--etcd-servers", etcd).Config))
	}
	const most = 10
	setQuota(t, clients[0], "configmaps", most)
	waitForQuota(t, clients[1])
	var wg sync.WaitGroup
	results := make(chan error, 2*2*most)
	for c, client := range clients {
		for i := range 2 * most {
			wg.Go(func() {
				m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m-%d-%d", c, i)}}
				_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), m, metav1.CreateOptions{})
				results <- err
			})
		}
	}
	wg.Wait()
	close(results)
	created := 0
	for err := range results {
		if err == nil {
			created++
		} else if !apierrors.IsForbidden(err) {
			t.Errorf("unexpected refusal: %v", err)
		}
	}
	if created != most {
		t.Errorf("%d config maps were created, want %d", created, most)
	}
}

// setQuota makes a quota whose use is known, as a controller would.
func setQuota(t *testing.T, client *kubernetes.Clientset, name corev1.ResourceName, most int64) {
	t.Helper()
	hard := corev1.ResourceList{name: *resource.NewQuantity(most, resource.DecimalSI)}
	quotas := client.CoreV1().ResourceQuotas("default")
	q, err := quotas.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: hard},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	q.Status = corev1.ResourceQuotaStatus{Hard: hard,
		Used: corev1.ResourceList{name: *resource.NewQuantity(0, resource.DecimalSI)}}
	if _, err := quotas.UpdateStatus(t.Context(), q, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// waitForQuota waits until a replica has the quota in its cache.
func waitForQuota(t *testing.T, client *kubernetes.Clientset) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		q, err := client.CoreV1().ResourceQuotas("default").Get(ctx, "q", metav1.GetOptions{ResourceVersion: "0"})
		if err == nil && len(q.Status.Hard) > 0 {
			return
		}
		if ctx.Err() != nil {
			t.Fatal("the quota does not arrive")
		}
		time.Sleep(5 * time.Millisecond)
	}
}
