package garbage

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
)

const (
	// checkers and orphaners are the numbers of workers.
	checkers  = 20
	orphaners = 5

	name           = "garbage-collector-controller"
	serviceAccount = "generic-garbage-collector"
)

// controller is the garbage collector.
type controller struct {
	env      *control.Env
	graph    *graph
	client   metadata.Interface
	events   *control.Recorder
	toCheck  *control.Queue[ident]
	toOrphan *control.Queue[ident]
}

// New returns the controller.
func New(e *control.Env) (worker.Runner, error) {
	client, err := metadata.NewForConfig(e.As(serviceAccount))
	if err != nil {
		return nil, err
	}
	c := &controller{env: e, graph: newGraph(), client: client, events: e.Recorder(name, serviceAccount)}
	c.toCheck = control.NewQueue(e, "garbage_collector_attempt_to_delete", checkers, c.check)
	c.toOrphan = control.NewQueue(e, "garbage_collector_attempt_to_orphan", orphaners, c.orphan)
	c.graph.check, c.graph.orphan, c.graph.locate = c.toCheck.Add, c.toOrphan.Add, c.locate
	e.Feed.OnAll(c.changed)
	e.Feed.OnListed(c.graph.listed)
	return worker.Together{&external{controller: c}, worker.After(e.Feed.Synced(), c.toOrphan, c.toCheck)}, nil
}

// changed handles a stored object. Most have neither owners nor dependents.
func (c *controller) changed(o *control.Object) {
	switch {
	case o.Deleted():
		c.graph.deleted(o.Key, o.Revision)
	case control.Related(o.Value) || c.graph.known(o.Key):
		m, err := control.ReadMeta(o.Value)
		if err != nil {
			klog.V(2).InfoS("Failed to decode an object for garbage collection", "key", o.Key, "err", err)
			return
		}
		c.graph.observe(place{o.Key, o.Resource, o.Namespace, o.Name}, &m, o.Revision)
	}
}

// invalidScope is the key prefix of namespaced owners to which cluster-scoped objects refer.
const invalidScope = "!namespaced/"

// unknownKind is the key prefix of owners whose kind is not served.
const unknownKind = "?"

// locate implements graph.locate.
func (c *controller) locate(ref *metav1.OwnerReference, namespace string) (place, bool) {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	r, ok := c.env.Resources.OfKind(kind)
	if !ok {
		return place{key: unknownKind + strings.Join([]string{ref.APIVersion, ref.Kind, namespace, ref.Name}, "/"),
			namespace: namespace, name: ref.Name}, false
	}
	p := place{resource: r.GroupResource(), name: ref.Name}
	if r.Namespaced {
		p.namespace = namespace
	}
	p.key = c.keyOf(&r, p.namespace, p.name)
	if r.Namespaced && namespace == "" {
		p.key = invalidScope + p.key
	}
	return p, true
}

// keyOf returns the key at which an object of a resource is, or would be, stored.
func (c *controller) keyOf(r *control.Resource, namespace, name string) string {
	key := c.env.Resources.KeyPrefix(r.GroupResource())
	if r.External {
		key = "external/" + key
	}
	if r.Namespaced {
		key += namespace + "/"
	}
	return key + name
}

// objects returns the client of a resource in a namespace; "" for cluster-scoped resources.
func (c *controller) objects(resource schema.GroupResource, namespace string) (metadata.ResourceInterface, error) {
	r, ok := c.env.Resources.Find(resource)
	if !ok {
		return nil, control.Later("%s is not served", resource)
	}
	if namespace == "" {
		return c.client.Resource(r.GroupVersionResource), nil
	}
	return c.client.Resource(r.GroupVersionResource).Namespace(namespace), nil
}
