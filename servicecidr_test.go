package triplane

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Services keep the ranges of the first start, except for a second family that a later start adds.
func TestServiceRangesChangeBetweenStarts(t *testing.T) {
	const old, both = "10.0.0.0/16", "10.0.0.0/16,fd00::/108"
	dir := t.TempDir()
	for _, start := range []struct {
		flag, stored string
		families     int
		warns        bool
	}{
		{old, old, 1, false},
		{"10.1.0.0/16", old, 1, true},
		{both, both, 2, false},
		{old, both, 1, true},
	} {
		o := testOptions(dir)
		o.Kube.ServiceClusterIPs = start.flag
		s, err := Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		c := client(t, s)
		stored, err := c.NetworkingV1().ServiceCIDRs().Get(t.Context(), "kubernetes", metav1.GetOptions{})
		if err != nil || strings.Join(stored.Spec.CIDRs, ",") != start.stored {
			t.Errorf("%s: %v, %v", start.flag, stored.Spec.CIDRs, err)
		}
		policy := corev1.IPFamilyPolicyPreferDualStack
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{GenerateName: "s"}, Spec: corev1.ServiceSpec{IPFamilyPolicy: &policy, Ports: []corev1.ServicePort{{Port: 80}}}}
		service, err = c.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{})
		if err != nil || len(service.Spec.ClusterIPs) != start.families || !strings.HasPrefix(service.Spec.ClusterIP, "10.0.") {
			t.Errorf("%s: a Service has %v, %v", start.flag, service.Spec.ClusterIPs, err)
		}
		events, err := c.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		message := "does not match the controller flag configurations [" + strings.ReplaceAll(start.flag, ",", " ") + "]"
		if warned := slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return strings.HasSuffix(e.Message, message) }); warned != start.warns {
			t.Errorf("%s: warned is %v", start.flag, warned)
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}
