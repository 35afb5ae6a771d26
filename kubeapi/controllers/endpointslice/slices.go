package endpointslice

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	discoveryv1client "k8s.io/client-go/kubernetes/typed/discovery/v1"

	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

// perSlice is the maximum number of endpoints of a slice.
const perSlice = 100

// shape is what the endpoints of a slice have in common.
type shape struct {
	family discoveryv1.AddressType
	ports  string // as JSON, "" for none
}

func shapeOf(family discoveryv1.AddressType, ports []discoveryv1.EndpointPort) (shape, error) {
	if len(ports) == 0 { // storage does not distinguish an empty list from none
		return shape{family: family}, nil
	}
	text, err := json.Marshal(ports)
	return shape{family, string(text)}, err
}

// endpointPorts returns the ports of slices of the shape.
func (s *shape) endpointPorts() (ports []discoveryv1.EndpointPort, err error) {
	if s.ports != "" {
		err = json.Unmarshal([]byte(s.ports), &ports)
	}
	return ports, err
}

// wanted is the wanted content of an owner's slices.
type wanted struct {
	namespace, service string
	owner              metav1.OwnerReference
	labels             map[string]string
	annotations        map[string]string
	endpoints          map[shape][]discoveryv1.Endpoint
}

func (w *wanted) add(
	family discoveryv1.AddressType, ports []discoveryv1.EndpointPort, e ...discoveryv1.Endpoint,
) error {
	s, err := shapeOf(family, ports)
	if err != nil {
		return err
	}
	w.endpoints[s] = append(w.endpoints[s], e...)
	return nil
}

// keeper reconciles slices.
type keeper struct {
	env     *control.Env
	client  discoveryv1client.EndpointSlicesGetter
	manager string // value of the label managed-by
}

// present lists the slices of a service that the keeper manages. The list is consistent, so that it includes
// slices just created.
func (k *keeper) present(ctx context.Context, namespace, service string) ([]*discoveryv1.EndpointSlice, error) {
	return group.EndpointSlices(k.env.Stores).List(control.Reading(ctx), namespace, &metainternalversion.ListOptions{
		LabelSelector: labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service,
			discoveryv1.LabelManagedBy: k.manager}),
	})
}

// removeAll deletes the slices of a service.
func (k *keeper) removeAll(ctx context.Context, namespace, service string) error {
	have, err := k.present(ctx, namespace, service)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range have {
		errs = append(errs, k.remove(ctx, s))
	}
	return errors.Join(errs...)
}

func (k *keeper) remove(ctx context.Context, s *discoveryv1.EndpointSlice) error {
	err := k.client.EndpointSlices(s.Namespace).Delete(ctx, s.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &s.UID}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// keep reconciles the slices of a service.
func (k *keeper) keep(ctx context.Context, w *wanted) error {
	have, err := k.present(ctx, w.namespace, w.service)
	if err != nil {
		return err
	}
	byShape := map[shape][]*discoveryv1.EndpointSlice{}
	for _, s := range have {
		of, err := shapeOf(s.AddressType, s.Ports)
		if err != nil {
			return err
		}
		byShape[of] = append(byShape[of], s)
	}
	var errs []error
	for of, endpoints := range w.endpoints {
		errs = append(errs, k.keepShape(ctx, w, of, endpoints, byShape[of]))
		delete(byShape, of)
	}
	for _, left := range byShape {
		for _, s := range left {
			errs = append(errs, k.remove(ctx, s))
		}
	}
	return errors.Join(errs...)
}

// keepShape distributes endpoints: existing ones remain in their slice, others fill gaps, and then new slices.
func (k *keeper) keepShape(
	ctx context.Context, w *wanted, of shape, endpoints []discoveryv1.Endpoint, have []*discoveryv1.EndpointSlice,
) error {
	missing := map[string]discoveryv1.Endpoint{}
	for _, e := range endpoints {
		missing[identity(&e)] = e
	}
	held := make([][]discoveryv1.Endpoint, len(have))
	for i, s := range have {
		for _, e := range s.Endpoints {
			if now, ok := missing[identity(&e)]; ok {
				held[i] = append(held[i], now)
				delete(missing, identity(&e))
			}
		}
	}
	var rest []discoveryv1.Endpoint
	for _, id := range slices.Sorted(maps.Keys(missing)) {
		rest = append(rest, missing[id])
	}
	var errs []error
	kept := 0
	for i, s := range have {
		n := min(perSlice-len(held[i]), len(rest))
		held[i], rest = append(held[i], rest[:n]...), rest[n:]
		if len(held[i]) == 0 && (len(endpoints) > 0 || kept > 0) {
			errs = append(errs, k.remove(ctx, s))
			continue
		}
		kept++
		errs = append(errs, k.update(ctx, w, s, held[i]))
	}
	for len(rest) > 0 || kept == 0 {
		n := min(perSlice, len(rest))
		errs = append(errs, k.create(ctx, w, of, rest[:n]))
		rest, kept = rest[n:], kept+1
	}
	return errors.Join(errs...)
}

// identity returns a string that identifies an endpoint across changes.
func identity(e *discoveryv1.Endpoint) string {
	id := e.Addresses[0]
	if e.TargetRef != nil {
		id += " " + string(e.TargetRef.UID)
	}
	return id
}

func (k *keeper) update(
	ctx context.Context, w *wanted, s *discoveryv1.EndpointSlice, endpoints []discoveryv1.Endpoint,
) error {
	if equality.Semantic.DeepEqual(s.Endpoints, endpoints) && maps.Equal(s.Labels, w.labels) && sameAnnotations(s, w) {
		return nil
	}
	s.Endpoints, s.Labels = endpoints, w.labels
	if w.annotations != nil {
		s.Annotations = w.annotations
	}
	s.OwnerReferences = []metav1.OwnerReference{w.owner}
	_, err := k.client.EndpointSlices(w.namespace).Update(ctx, s, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return control.Later("a slice of %s is gone", w.service)
	}
	return err
}

// sameAnnotations reports whether a slice has the wanted annotations; nil accepts any.
func sameAnnotations(s *discoveryv1.EndpointSlice, w *wanted) bool {
	return w.annotations == nil || maps.Equal(s.Annotations, w.annotations)
}

func (k *keeper) create(ctx context.Context, w *wanted, of shape, endpoints []discoveryv1.Endpoint) error {
	ports, err := of.endpointPorts()
	if err != nil {
		return err
	}
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: w.service + "-", Namespace: w.namespace, Labels: w.labels, Annotations: w.annotations,
			OwnerReferences: []metav1.OwnerReference{w.owner},
		},
		AddressType: of.family, Endpoints: endpoints, Ports: ports,
	}
	_, err = k.client.EndpointSlices(w.namespace).Create(ctx, s, metav1.CreateOptions{})
	return err
}
