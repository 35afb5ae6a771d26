package service

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Ports are compared with each other and with the type after the addresses.
func TestOrderOfErrors(t *testing.T) {
	port := corev1.ServicePort{Name: "a", Port: 1, NodePort: 3, Protocol: corev1.ProtocolTCP}
	other := port
	other.Name = "b"
	plain := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, SessionAffinity: corev1.ServiceAffinityNone,
		Ports: []corev1.ServicePort{port, other}, Selector: map[string]string{"-": ""}, ExternalIPs: []string{"x"}}}
	external := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, SessionAffinity: corev1.ServiceAffinityNone,
		ClusterIPs: []string{"x"}, IPFamilies: []corev1.IPFamily{"x"}}}
	for _, c := range []struct {
		s    *corev1.Service
		want []string
	}{
		{plain, []string{"spec.selector", "spec.externalIPs[0]", "spec.ports[0].nodePort", "spec.ports[1].nodePort",
			"spec.ports[1].nodePort", "spec.ports[1]"}},
		{external, []string{"spec.clusterIPs", "spec.ipFamilies", "spec.externalName"}},
	} {
		var got []string
		for _, e := range validate(options{}, c.s) {
			if !strings.HasSuffix(e.Field, "TrafficPolicy") && !strings.HasSuffix(e.Field, "targetPort") { // not defaulted here
				got = append(got, e.Field)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
