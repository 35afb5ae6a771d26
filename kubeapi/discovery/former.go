package discovery

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"

	"triplane.dev/generic/api/kind"
)

func formerSlices() []kind.Version[*discoveryv1.EndpointSlice] {
	return []kind.Version[*discoveryv1.EndpointSlice]{
		kind.SimilarFields(discoveryv1beta1.SchemeGroupVersion, fromBeta, nil),
	}
}

// fromBeta converts the topology of endpoints: the zone has a field, as the host
// has in nodeName, and the rest is kept as deprecated.
func fromBeta(old *discoveryv1beta1.EndpointSlice, out *discoveryv1.EndpointSlice) error {
	for i := range old.Endpoints {
		topology := maps.Clone(old.Endpoints[i].Topology)
		e := &out.Endpoints[i]
		if zone, ok := topology[corev1.LabelTopologyZone]; ok {
			e.Zone = &zone
			delete(topology, corev1.LabelTopologyZone)
		}
		delete(topology, corev1.LabelHostname)
		if len(topology) > 0 {
			e.DeprecatedTopology = topology
		}
	}
	return nil
}
