package endpointslice

import (
	"context"
	"net/netip"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	discoveryv1client "k8s.io/client-go/kubernetes/typed/discovery/v1"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const (
	workers         = 5
	servicesManager = "endpointslice-controller.k8s.io"
)

type serviceController struct {
	keeper
	queue     *control.Queue[control.Key]
	keyPrefix func(schema.GroupResource) string

	// The fields below belong to the feed's handlers.

	// selectors are the selectors of services, by namespace and name.
	selectors map[string]map[string]labels.Selector
	// selecting has the services that selected a pod at its last change.
	selecting map[control.Key][]string
	// zones has the zones of nodes, by name.
	zones map[string]string
}

// NewServices returns the controller of Services with a selector.
func NewServices(e *control.Env) (worker.Runner, error) {
	client, err := discoveryv1client.NewForConfig(e.As("endpointslice-controller"))
	if err != nil {
		return nil, err
	}
	c := &serviceController{
		keeper: keeper{env: e, client: client, manager: servicesManager}, keyPrefix: e.Resources.KeyPrefix,
		selectors: map[string]map[string]labels.Selector{}, selecting: map[control.Key][]string{},
		zones: map[string]string{},
	}
	c.queue = control.NewQueue(e, "endpoint_slice", workers, c.sync)
	e.Feed.On(group.Services(e.Stores).Resource(), c.serviceChanged)
	e.Feed.On(group.Pods(e.Stores).Resource(), c.podChanged)
	e.Feed.On(group.Nodes(e.Stores).Resource(), c.nodeChanged)
	e.Feed.OnListed(c.listed)
	e.Feed.On(group.EndpointSlices(e.Stores).Resource(), func(o *control.Object) {
		enterService(c.queue, o, servicesManager)
	})
	return c.queue, nil
}

// enterService enqueues the service of a changed slice. For a deleted slice it uses the slice's name, which starts
// with the service's.
func enterService(queue *control.Queue[control.Key], o *control.Object, manager string) {
	if o.Deleted() {
		for i := len(o.Name) - 1; i > 0; i-- {
			if o.Name[i] == '-' {
				queue.Add(control.Key{Namespace: o.Namespace, Name: o.Name[:i]})
				return
			}
		}
		return
	}
	if !o.Mentions(manager) {
		return
	}
	if s, err := control.Decode(o, &discoveryv1.EndpointSlice{}); err == nil &&
		s.Labels[discoveryv1.LabelManagedBy] == manager {
		queue.Add(control.Key{Namespace: o.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]})
	}
}

// listed handles deletions that the feed has missed.
func (c *serviceController) listed(resource schema.GroupResource, _ int64, present func(key string) bool) {
	prefix := c.keyPrefix(resource)
	see := func(namespace, name string, changed control.Handler) {
		if key := prefix + path.Join(namespace, name); !present(key) {
			changed(&control.Object{Resource: resource, Namespace: namespace, Name: name, Key: key})
		}
	}
	switch resource {
	case group.Services(c.env.Stores).Resource():
		for namespace, byName := range c.selectors {
			for name := range byName {
				see(namespace, name, c.serviceChanged)
			}
		}
	case group.Pods(c.env.Stores).Resource():
		for pod := range c.selecting {
			see(pod.Namespace, pod.Name, c.podChanged)
		}
	case group.Nodes(c.env.Stores).Resource():
		for name := range c.zones {
			see("", name, c.nodeChanged)
		}
	}
}

func (c *serviceController) serviceChanged(o *control.Object) {
	delete(c.selectors[o.Namespace], o.Name)
	if !o.Deleted() {
		if s, err := control.Decode(o, &corev1.Service{}); err == nil && len(s.Spec.Selector) > 0 {
			if c.selectors[o.Namespace] == nil {
				c.selectors[o.Namespace] = map[string]labels.Selector{}
			}
			c.selectors[o.Namespace][o.Name] = labels.SelectorFromSet(s.Spec.Selector)
		}
	}
	if len(c.selectors[o.Namespace]) == 0 {
		delete(c.selectors, o.Namespace)
	}
	c.queue.Add(control.KeyOf(o))
}

// podChanged enqueues the services that select a pod, or selected it before.
func (c *serviceController) podChanged(o *control.Object) {
	key := control.KeyOf(o)
	before := c.selecting[key]
	var now []string
	if selectors := c.selectors[o.Namespace]; !o.Deleted() && len(selectors) > 0 {
		if p, err := control.Decode(o, &corev1.Pod{}); err == nil {
			for name, selector := range selectors {
				if selector.Matches(labels.Set(p.Labels)) {
					now = append(now, name)
				}
			}
		}
	}
	if len(now) > 0 {
		c.selecting[key] = now
	} else {
		delete(c.selecting, key)
	}
	for _, name := range append(before, now...) {
		c.queue.Add(control.Key{Namespace: o.Namespace, Name: name})
	}
}

// nodeChanged enqueues all services when the zone of a node changes, which is rare.
func (c *serviceController) nodeChanged(o *control.Object) {
	zone := ""
	if !o.Deleted() && o.Mentions(corev1.LabelTopologyZone) {
		if n, err := control.Decode(o, &corev1.Node{}); err == nil {
			zone = n.Labels[corev1.LabelTopologyZone]
		}
	}
	if zone == c.zones[o.Name] {
		return
	}
	if c.zones[o.Name] = zone; zone == "" {
		delete(c.zones, o.Name)
	}
	for namespace, byName := range c.selectors {
		for name := range byName {
			c.queue.Add(control.Key{Namespace: namespace, Name: name})
		}
	}
}

// sync reconciles the slices of a service with its pods.
func (c *serviceController) sync(ctx context.Context, key control.Key) error {
	s, err := group.Services(c.env.Stores).GetCached(control.Reading(ctx), key.Namespace, key.Name)
	switch {
	case apierrors.IsNotFound(err):
		return c.removeAll(ctx, key.Namespace, key.Name)
	case err != nil:
		return err
	case s.Spec.Type == corev1.ServiceTypeExternalName || len(s.Spec.Selector) == 0:
		return c.removeAll(ctx, key.Namespace, key.Name)
	case s.DeletionTimestamp != nil:
		return nil // the garbage collector deletes the slices
	}
	selected, err := group.Pods(c.env.Stores).List(control.Reading(ctx), key.Namespace, &metainternalversion.ListOptions{
		ResourceVersion: group.Cached, LabelSelector: labels.SelectorFromSet(s.Spec.Selector),
	})
	if err != nil {
		return err
	}
	w := wantedBy(s)
	for _, family := range families(s) {
		if err := c.addPods(ctx, w, s, selected, family); err != nil {
			return err
		}
	}
	return c.keep(ctx, w)
}

func wantedBy(s *corev1.Service) *wanted {
	w := &wanted{
		namespace: s.Namespace, service: s.Name, labels: map[string]string{},
		endpoints: map[shape][]discoveryv1.Endpoint{},
		owner:     *metav1.NewControllerRef(s, corev1.SchemeGroupVersion.WithKind("Service")),
	}
	for key, value := range s.Labels {
		w.labels[key] = value
	}
	delete(w.labels, corev1.IsHeadlessService)
	w.labels[discoveryv1.LabelServiceName], w.labels[discoveryv1.LabelManagedBy] = s.Name, servicesManager
	if s.Spec.ClusterIP == corev1.ClusterIPNone {
		w.labels[corev1.IsHeadlessService] = ""
	}
	return w
}

// families returns the address families of a service.
func families(s *corev1.Service) []discoveryv1.AddressType {
	var out []discoveryv1.AddressType
	for _, f := range s.Spec.IPFamilies {
		if f == corev1.IPv6Protocol {
			out = append(out, discoveryv1.AddressTypeIPv6)
		} else {
			out = append(out, discoveryv1.AddressTypeIPv4)
		}
	}
	if len(out) == 0 {
		out = append(out, discoveryv1.AddressTypeIPv4)
	}
	return out
}

// addPods adds the endpoints of one family. Without endpoints it adds one empty slice.
func (c *serviceController) addPods(
	ctx context.Context, w *wanted, s *corev1.Service, selected []*corev1.Pod, family discoveryv1.AddressType,
) error {
	none := true
	for _, p := range selected {
		address := addressOf(p, family)
		if address == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		none = false
		if err := w.add(family, portsOf(s, p), c.endpoint(ctx, s, p, address)); err != nil {
			return err
		}
	}
	if none {
		return w.add(family, nil)
	}
	return nil
}

func addressOf(p *corev1.Pod, family discoveryv1.AddressType) string {
	for _, ip := range p.Status.PodIPs {
		if familyOf(ip.IP) == family {
			return ip.IP
		}
	}
	if len(p.Status.PodIPs) == 0 && familyOf(p.Status.PodIP) == family {
		return p.Status.PodIP
	}
	return ""
}

// familyOf returns the address family of an IP, "" if it is invalid.
func familyOf(ip string) discoveryv1.AddressType {
	a, err := netip.ParseAddr(ip)
	switch {
	case err != nil:
		return ""
	case a.Is4():
		return discoveryv1.AddressTypeIPv4
	}
	return discoveryv1.AddressTypeIPv6
}

// endpoint returns the endpoint of a pod.
func (c *serviceController) endpoint(
	ctx context.Context, s *corev1.Service, p *corev1.Pod, address string,
) discoveryv1.Endpoint {
	serving, terminating := podReady(p), p.DeletionTimestamp != nil
	ready := s.Spec.PublishNotReadyAddresses || serving && !terminating
	e := discoveryv1.Endpoint{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID},
	}
	if p.Spec.NodeName != "" {
		e.NodeName = &p.Spec.NodeName
		if n, err := group.Nodes(c.env.Stores).GetCached(control.Reading(ctx), "", p.Spec.NodeName); err == nil &&
			n.Labels[corev1.LabelTopologyZone] != "" {
			zone := n.Labels[corev1.LabelTopologyZone]
			e.Zone = &zone
		}
	}
	if p.Spec.Hostname != "" && p.Spec.Subdomain == s.Name {
		e.Hostname = &p.Spec.Hostname
	}
	e.Hints = hints(s, &e)
	return e
}

// hints returns the hints of an endpoint if the service prefers the same zone or node (KEP-4444, KEP-3015). A hint
// for a node includes its zone, as the second choice. Endpoints that are not ready have no hints.
func hints(s *corev1.Service, e *discoveryv1.Endpoint) *discoveryv1.EndpointHints {
	if s.Spec.TrafficDistribution == nil || !*e.Conditions.Ready {
		return nil
	}
	var h discoveryv1.EndpointHints
	switch *s.Spec.TrafficDistribution {
	case corev1.ServiceTrafficDistributionPreferSameNode:
		if e.NodeName != nil {
			h.ForNodes = []discoveryv1.ForNode{{Name: *e.NodeName}}
		}
	case corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone:
	default:
		return nil
	}
	if e.Zone != nil {
		h.ForZones = []discoveryv1.ForZone{{Name: *e.Zone}}
	}
	if h.ForNodes == nil && h.ForZones == nil {
		return nil
	}
	return &h
}

func podReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// portsOf returns the ports of a service for a pod, without those whose name the pod does not define.
func portsOf(s *corev1.Service, p *corev1.Pod) []discoveryv1.EndpointPort {
	var ports []discoveryv1.EndpointPort
	var named map[portName]int32
	for i := range s.Spec.Ports {
		sp := &s.Spec.Ports[i]
		if named == nil && sp.TargetPort.StrVal != "" {
			named = namedPorts(p)
		}
		number, ok := targetPort(sp, named)
		if !ok {
			continue
		}
		name, protocol := sp.Name, sp.Protocol
		ports = append(ports, discoveryv1.EndpointPort{Name: &name, Port: &number, Protocol: &protocol,
			AppProtocol: sp.AppProtocol})
	}
	return ports
}

// targetPort returns the port number of a service port for a pod with these named ports.
func targetPort(sp *corev1.ServicePort, named map[portName]int32) (int32, bool) {
	switch {
	case sp.TargetPort.StrVal != "":
		number, ok := named[portName{sp.TargetPort.StrVal, sp.Protocol}]
		return number, ok
	case sp.TargetPort.IntVal == 0:
		return sp.Port, true
	}
	return sp.TargetPort.IntVal, true
}

// portName is the name and protocol of a container port.
type portName struct {
	name     string
	protocol corev1.Protocol
}

// namedPorts returns the named ports of a pod. Ports of containers take precedence over those of sidecars.
func namedPorts(p *corev1.Pod) map[portName]int32 {
	named := map[portName]int32{}
	add := func(c *corev1.Container) {
		for i := range c.Ports {
			port := &c.Ports[i]
			if at := (portName{port.Name, port.Protocol}); named[at] == 0 {
				named[at] = port.ContainerPort
			}
		}
	}
	for i := range p.Spec.Containers {
		add(&p.Spec.Containers[i])
	}
	for i := range p.Spec.InitContainers {
		if r := p.Spec.InitContainers[i].RestartPolicy; r != nil && *r == corev1.ContainerRestartPolicyAlways {
			add(&p.Spec.InitContainers[i])
		}
	}
	return named
}
