package endpointslice

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"triplane.dev/kubeapi/controllers/control"
)

// A stored slice has the wanted shape; otherwise it would be replaced forever.
func TestSlicesKeepTheirShape(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}}}}}
	for _, s := range []corev1.ServiceSpec{
		{ClusterIP: corev1.ClusterIPNone},
		{Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("web"), Protocol: corev1.ProtocolTCP}}},
		{Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("none"), Protocol: corev1.ProtocolTCP}}},
	} {
		w := &wanted{endpoints: map[shape][]discoveryv1.Endpoint{}}
		if err := w.add(discoveryv1.AddressTypeIPv4, portsOf(&corev1.Service{Spec: s}, pod), discoveryv1.Endpoint{}); err != nil {
			t.Fatal(err)
		}
		for of := range w.endpoints {
			ports, err := of.endpointPorts()
			if err != nil {
				t.Fatal(err)
			}
			written := &discoveryv1.EndpointSlice{AddressType: of.family, Ports: ports}
			read, err := control.Decode(stored(t, discoveryv1.Resource("endpointslices"), "EndpointSlice", written), &discoveryv1.EndpointSlice{})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := shapeOf(read.AddressType, read.Ports); err != nil || got != of {
				t.Errorf("%v becomes %v (%v)", of, got, err)
			}
		}
	}
}

func TestPortsOf(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	container := func(policy *corev1.ContainerRestartPolicy, number int32, names ...string) corev1.Container {
		c := corev1.Container{RestartPolicy: policy}
		for _, name := range names {
			c.Ports = append(c.Ports, corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: corev1.ProtocolTCP})
		}
		return c
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{container(nil, 1, "init"), container(&always, 2, "sidecar", "web")},
		Containers:     []corev1.Container{container(nil, 3, "web"), container(nil, 4, "web", "second")},
	}}
	service := &corev1.Service{}
	for _, target := range []intstr.IntOrString{
		intstr.FromString("web"), intstr.FromString("second"), intstr.FromString("sidecar"), intstr.FromString("init"), intstr.FromInt32(0), intstr.FromInt32(7),
	} {
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: target.String(), Port: 80, TargetPort: target, Protocol: corev1.ProtocolTCP})
	}
	var got []string
	for _, p := range portsOf(service, pod) {
		got = append(got, fmt.Sprintf("%s=%d", *p.Name, *p.Port))
	}
	if want := []string{"web=3", "second=4", "sidecar=2", "0=80", "7=7"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Clients choose the number of ports of Endpoints and Services.
func TestManyPorts(t *testing.T) {
	const many = 30_000
	begun := time.Now()
	subset := corev1.EndpointSubset{Ports: make([]corev1.EndpointPort, many)}
	service, pod := &corev1.Service{}, &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{}}}}
	for i := range many {
		name := fmt.Sprint("p", i)
		subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: "192.0.2.1"})
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: name, TargetPort: intstr.FromString(name)})
		pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, corev1.ContainerPort{Name: name, ContainerPort: int32(i + 1)})
	}
	w, err := mirror(&corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "e"}, Subsets: []corev1.EndpointSubset{subset}})
	if err != nil || len(w.endpoints) != 1 {
		t.Errorf("%d shapes (%v)", len(w.endpoints), err)
	}
	if got := portsOf(service, pod); len(got) != many {
		t.Errorf("%d ports", len(got))
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it takes %v", took)
	}
}
