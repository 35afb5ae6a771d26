package endpointslice

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discoveryv1client "k8s.io/client-go/kubernetes/typed/discovery/v1"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const (
	mirrorManager = "endpointslicemirroring-controller.k8s.io"
	// leaderAnnotation is the annotation of Endpoints that are leader election locks.
	leaderAnnotation = "control-plane.alpha.kubernetes.io/leader"
	// perSubset is the maximum number of mirrored addresses of a subset.
	perSubset = 1000
)

type mirrorController struct {
	keeper
}

// NewMirroring returns the controller that mirrors Endpoints.
func NewMirroring(e *control.Env) (worker.Runner, error) {
	client, err := discoveryv1client.NewForConfig(e.As("endpointslicemirroring-controller"))
	if err != nil {
		return nil, err
	}
	c := &mirrorController{keeper{env: e, client: client, manager: mirrorManager}}
	queue := control.NewQueue(e, "endpoint_slice_mirroring", workers, c.sync)
	add := func(o *control.Object) { queue.Add(control.KeyOf(o)) }
	e.Feed.On(group.Services(e.Stores).Resource(), add)
	e.Feed.On(group.Endpoints(e.Stores).Resource(), add)
	e.Feed.On(group.EndpointSlices(e.Stores).Resource(), func(o *control.Object) { enterService(queue, o, mirrorManager) })
	return queue, nil
}

// sync reconciles the slices of a service with its Endpoints.
func (c *mirrorController) sync(ctx context.Context, key control.Key) error {
	ep, err := group.Endpoints(c.env.Stores).GetCached(control.Reading(ctx), key.Namespace, key.Name)
	if apierrors.IsNotFound(err) {
		return c.removeAll(ctx, key.Namespace, key.Name)
	}
	if err != nil {
		return err
	}
	s, err := group.Services(c.env.Stores).GetCached(control.Reading(ctx), key.Namespace, key.Name)
	if apierrors.IsNotFound(err) || err == nil && !mirrored(ep, s) {
		return c.removeAll(ctx, key.Namespace, key.Name)
	}
	if err != nil || ep.DeletionTimestamp != nil || s.DeletionTimestamp != nil {
		return err
	}
	w, err := mirror(ep)
	if err != nil {
		return err
	}
	return c.keep(ctx, w)
}

// mirrored reports whether Endpoints are mirrored: they are for a service without a selector.
func mirrored(ep *corev1.Endpoints, s *corev1.Service) bool {
	_, lock := ep.Annotations[leaderAnnotation]
	return !lock && ep.Labels[discoveryv1.LabelSkipMirror] != "true" && len(s.Spec.Selector) == 0
}

// mirror returns the wanted slices for Endpoints.
func mirror(ep *corev1.Endpoints) (*wanted, error) {
	w := &wanted{
		namespace: ep.Namespace, service: ep.Name, labels: map[string]string{}, annotations: map[string]string{},
		endpoints: map[shape][]discoveryv1.Endpoint{},
		owner:     *metav1.NewControllerRef(ep, corev1.SchemeGroupVersion.WithKind("Endpoints")),
	}
	for key, value := range ep.Labels {
		w.labels[key] = value
	}
	for key, value := range ep.Annotations {
		if key != corev1.LastAppliedConfigAnnotation && key != corev1.EndpointsLastChangeTriggerTime {
			w.annotations[key] = value
		}
	}
	w.labels[discoveryv1.LabelServiceName], w.labels[discoveryv1.LabelManagedBy] = ep.Name, mirrorManager
	for i := range ep.Subsets {
		if err := mirrorSubset(w, &ep.Subsets[i]); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func mirrorSubset(w *wanted, subset *corev1.EndpointSubset) error {
	var ports []discoveryv1.EndpointPort
	for i := range subset.Ports {
		p := subset.Ports[i]
		ports = append(ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port, Protocol: &p.Protocol,
			AppProtocol: p.AppProtocol})
	}
	n, endpoints := 0, map[discoveryv1.AddressType][]discoveryv1.Endpoint{}
	for _, of := range []struct {
		ready     bool
		addresses []corev1.EndpointAddress
	}{{true, subset.Addresses}, {false, subset.NotReadyAddresses}} {
		for i := range of.addresses {
			a := &of.addresses[i]
			family := familyOf(a.IP)
			if family == "" || n == perSubset {
				continue
			}
			n++
			e := discoveryv1.Endpoint{
				Addresses: []string{a.IP}, Conditions: discoveryv1.EndpointConditions{Ready: &of.ready},
				TargetRef: a.TargetRef, NodeName: a.NodeName,
			}
			if a.Hostname != "" {
				e.Hostname = &a.Hostname
			}
			endpoints[family] = append(endpoints[family], e)
		}
	}
	for family, some := range endpoints {
		if err := w.add(family, ports, some...); err != nil {
			return err
		}
	}
	return nil
}
