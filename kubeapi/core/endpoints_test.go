package core

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestEndpointsCell(t *testing.T) {
	const many = 40_000 // of each fit into an object
	addresses := func(ips ...string) (list []corev1.EndpointAddress) {
		for _, ip := range ips {
			list = append(list, corev1.EndpointAddress{IP: ip})
		}
		return list
	}
	ports := func(numbers ...int32) (list []corev1.EndpointPort) {
		for _, n := range numbers {
			list = append(list, corev1.EndpointPort{Port: n})
		}
		return list
	}
	large := corev1.EndpointSubset{Addresses: make([]corev1.EndpointAddress, many), Ports: make([]corev1.EndpointPort, many)}
	for _, c := range []struct {
		subsets []corev1.EndpointSubset
		want    string
	}{
		{nil, "<none>"},
		{[]corev1.EndpointSubset{{NotReadyAddresses: addresses("a")}}, ""},
		{[]corev1.EndpointSubset{{Addresses: addresses("a", "b")}}, "a,b"},
		{[]corev1.EndpointSubset{{Addresses: addresses("a", "::1"), Ports: ports(1, 2)}}, "a:1,[::1]:1,a:2 + 1 more..."},
		{[]corev1.EndpointSubset{{Addresses: addresses("a"), Ports: ports(1)}, {Addresses: addresses("b")}, {Ports: ports(1)}}, "a:1,b"},
		{[]corev1.EndpointSubset{large}, ":0,:0,:0 + 1599999997 more..."},
	} {
		begun := time.Now()
		if got := endpointsCell(&corev1.Endpoints{Subsets: c.subsets}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if took := time.Since(begun); took > 10*time.Second { // written out they take minutes
			t.Errorf("%q takes %v", c.want, took)
		}
	}
}
