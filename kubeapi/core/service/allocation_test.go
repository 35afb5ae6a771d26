package service

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// grouped are the places of a service's ports, those together that share a node port.
func grouped(s service, slots []portSlot) (groups [][]int) {
	place := map[*int32]int{}
	for i := range s.Spec.Ports {
		place[&s.Spec.Ports[i].NodePort] = i
	}
	for _, slot := range slots {
		group := []int{place[slot.value]}
		for _, sharer := range slot.sharers {
			group = append(group, place[sharer])
		}
		groups = append(groups, group)
	}
	return groups
}

// The rule as one would say it: a port joins the first group that it may.
func groupedByRule(s service, owned sets.Set[int32], created bool) (groups [][]int) {
	ports := s.Spec.Ports
	wanted := func(i int) int32 {
		n := ports[i].NodePort
		if j := slices.IndexFunc(ports, func(p corev1.ServicePort) bool { return p.Port == ports[i].Port && p.NodePort != 0 }); n == 0 && created && j >= 0 {
			n = ports[j].NodePort
		}
		return n
	}
	for i := range ports {
		if n := wanted(i); n == 0 && !needsNodePort(s) || n != 0 && owned.Has(n) {
			continue
		}
		at := slices.IndexFunc(groups, func(g []int) bool {
			switch {
			case wanted(g[0]) != wanted(i):
				return false
			case created:
				return ports[g[0]].Port == ports[i].Port
			}
			return wanted(i) != 0 && !slices.ContainsFunc(g, func(j int) bool { return ports[j].Protocol == ports[i].Protocol })
		})
		if at < 0 {
			groups = append(groups, []int{i})
		} else {
			groups[at] = append(groups[at], i)
		}
	}
	return groups
}

func TestPortsShareNodePorts(t *testing.T) {
	protocols := []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		s := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}}
		if random.IntN(4) == 0 {
			s.Spec.Type, s.Spec.AllocateLoadBalancerNodePorts = corev1.ServiceTypeLoadBalancer, new(bool)
		}
		for range random.IntN(8) {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: random.Int32N(3), NodePort: max(0, random.Int32N(5)-1), Protocol: protocols[random.IntN(3)]})
		}
		owned, created := sets.New(random.Int32N(5)), random.IntN(2) == 0
		got, want := grouped(s, portSlots(s, owned, created)), groupedByRule(s, owned, created)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%v, want %v, of %v", got, want, s.Spec)
		}
	}
}

// A service may be anything when its ports are allocated: it is validated later.
func TestManyPorts(t *testing.T) {
	const many = 200_000 // fit into a request
	for _, created := range []bool{true, false} {
		for _, nodePort := range []int32{0, 30000} {
			s := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}}
			for i := range int32(many) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: i, NodePort: nodePort})
			}
			t.Run(fmt.Sprint(created, nodePort), func(t *testing.T) {
				begun := time.Now()
				if n := len(portSlots(s, nil, created)); n != many {
					t.Errorf("%d slots", n)
				}
				nodePorts(s)
				if took := time.Since(begun); took > 5*time.Second {
					t.Errorf("it takes %v", took)
				}
			})
		}
	}
}
