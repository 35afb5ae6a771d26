package podwarnings

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"triplane.dev/kubeapi/podspec"
)

// placedPort is a container's port and where it is written.
type placedPort struct {
	*corev1.ContainerPort
	path *field.Path
}

// ports warns of ports of one pod that are, or may be, the same.
func (w *warner) ports(s *corev1.PodSpec, path *field.Path) {
	byNumber, byName := map[string][]placedPort{}, map[string]placedPort{}
	podspec.VisitContainers(s, path, func(c *corev1.Container, p *field.Path) {
		for i := range c.Ports {
			here := placedPort{&c.Ports[i], p.Child("ports").Index(i)}
			if here.HostIP != "" && here.HostPort == 0 {
				w.say("%s: hostIP set without hostPort: {Name:%s HostPort:%d ContainerPort:%d Protocol:%s HostIP:%s}",
					here.path, here.Name, here.HostPort, here.ContainerPort.ContainerPort, here.Protocol, here.HostIP)
			}
			number := strconv.Itoa(int(here.ContainerPort.ContainerPort)) + "/" + string(here.Protocol)
			for _, other := range byNumber[number] {
				w.samePort(here, other)
			}
			byNumber[number] = append(byNumber[number], here)
			if here.Name == "" {
				continue
			}
			if other, ok := byName[here.Name]; ok {
				w.say("%s: duplicate port name %q with %s, services and probes that select ports by name will use %s", here.path,
					here.Name, other.path, other.path)
			} else {
				byName[here.Name] = here
			}
		}
	})
}

func (w *warner) samePort(here, other placedPort) {
	switch {
	case here.HostIP == other.HostIP && here.HostPort == other.HostPort:
		w.say("%s: duplicate port definition with %s", here.path, other.path)
	case here.HostPort == 0 || other.HostPort == 0:
		w.say("%s: overlapping port definition with %s", here.path, other.path)
	case here.HostPort == other.HostPort && (here.HostIP == "") != (other.HostIP == ""):
		w.say("%s: dangerously ambiguous port definition with %s", here.path, other.path)
	}
}
