package pod

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/authorization"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/kubelet"
)

// nodeOf is the node of a pod. It is the pod that is not found where the node is
// not, in kube-apiserver's words.
func nodeOf(ctx context.Context, stores *group.Stores, name string) (*corev1.Node, error) {
	n, err := group.Nodes(stores).GetCached(ctx, "", name)
	if apierrors.IsNotFound(err) {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	return n, err
}

// containerOf settles which container is meant.
func containerOf(p pod, name, annotation string) (string, error) {
	if name == "" {
		switch len(p.Spec.Containers) {
		case 0:
			return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s", p.Name))
		case 1:
			return p.Spec.Containers[0].Name, nil
		}
		if d := p.Annotations["kubectl.kubernetes.io/default-container"]; d != "" && annotation != "" {
			return d, nil
		}
		return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %v",
			p.Name, containerNames(p)))
	}
	if slices.Contains(containerNames(p), name) {
		return name, nil
	}
	return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, p.Name))
}

// containerNames returns the names of a pod's containers of all kinds, in the order in
// which they start.
func containerNames(p pod) []string {
	var names []string
	for _, cs := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range cs {
			names = append(names, cs[i].Name)
		}
	}
	for i := range p.Spec.EphemeralContainers {
		names = append(names, p.Spec.EphemeralContainers[i].Name)
	}
	return names
}

// connecter serves a subresource that is a connection to a pod's kubelet.
type connecter struct {
	pods     *registry.Store[pod]
	stores   *group.Stores
	authz    authorizer.Authorizer // nil allows everything
	kubelets *kubelet.Client
	options  func() runtime.Object
	// container returns the container that the options name; nil where none does.
	container func(opts runtime.Object) string
	// at is the path of the kubelet's API, in front of namespace, pod and container.
	at string
	// query and handler say how a kubelet is asked.
	query   func(opts runtime.Object) url.Values
	handler func(location *url.URL, opts runtime.Object, r rest.Responder) http.Handler
	// translates says that handler knows more WebSocket protocols than all kubelets do, and extends
	// that nodes are believed which declare that their kubelets know them, too (KEP 4006).
	translates, extends bool
}

// extendedWebSockets is both the gate and the feature that nodes declare.
const extendedWebSockets = "ExtendWebSocketsToKubelet"

func connecters(pods *registry.Store[pod], d *group.Deps) map[string]*rest.Resource {
	base := connecter{pods: pods, stores: d.Stores, kubelets: d.Kubelets, extends: d.Gate(extendedWebSockets),
		translates: d.Gate("TranslateStreamCloseWebsocketRequests")}
	if d.Gate("AuthorizePodWebsocketUpgradeCreatePermission") {
		base.authz = d.Authorizer
	}
	exec, attach, forward := base, base, base
	exec.at, exec.options, exec.container = "/exec", func() runtime.Object { return &corev1.PodExecOptions{} },
		execContainer
	exec.query, exec.handler = execQuery, exec.stream
	attach.at, attach.options, attach.container = "/attach", func() runtime.Object { return &corev1.PodAttachOptions{} },
		execContainer
	attach.query, attach.handler = execQuery, attach.stream
	forward.at, forward.options = "/portForward", func() runtime.Object { return &corev1.PodPortForwardOptions{} }
	forward.query, forward.translates = portQuery, d.Gate("PortForwardWebsockets")
	forward.handler = func(location *url.URL, _ runtime.Object, r rest.Responder) http.Handler {
		return d.Kubelets.PortForward(location, r)
	}
	return map[string]*rest.Resource{"exec": exec.resource(), "attach": attach.resource(),
		"portforward": forward.resource()}
}

// streamsOf returns the options that exec and attach have in common.
func streamsOf(opts runtime.Object) (s kubelet.Streams, container string, command []string) {
	switch o := opts.(type) {
	case *corev1.PodExecOptions:
		return kubelet.Streams{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, TTY: o.TTY}, o.Container, o.Command
	case *corev1.PodAttachOptions:
		return kubelet.Streams{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, TTY: o.TTY}, o.Container, nil
	}
	return s, "", nil
}

func execContainer(opts runtime.Object) string {
	_, container, _ := streamsOf(opts)
	return container
}

// execQuery names the streams as kubelets do.
func execQuery(opts runtime.Object) url.Values {
	s, _, command := streamsOf(opts)
	query := url.Values{}
	for name, on := range map[string]bool{"input": s.Stdin, "output": s.Stdout, "error": s.Stderr, "tty": s.TTY} {
		if on {
			query.Set(name, "1")
		}
	}
	for _, word := range command {
		query.Add("command", word)
	}
	return query
}

func portQuery(opts runtime.Object) url.Values {
	query := url.Values{}
	if o, ok := opts.(*corev1.PodPortForwardOptions); ok {
		for _, port := range o.Ports {
			query.Add("port", strconv.Itoa(int(port)))
		}
	}
	return query
}

func (c connecter) stream(location *url.URL, opts runtime.Object, r rest.Responder) http.Handler {
	streams, _, _ := streamsOf(opts)
	return c.kubelets.Exec(location, streams, r)
}

func (c connecter) resource() *rest.Resource {
	return &rest.Resource{New: c.options, NewOptions: c.options, Connect: c.connect,
		ConnectMethods: []string{"GET", "POST"}}
}

func (c connecter) connect(ctx context.Context, r rest.ConnectRequest) (http.Handler, error) {
	if err := c.mayCreate(ctx, r.Name); err != nil {
		return nil, err
	}
	p, err := c.pods.Read(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	path := []string{c.at, p.Namespace, p.Name}
	if c.container != nil {
		container, err := containerOf(p, c.container(r.Query), "")
		if err != nil {
			return nil, err
		}
		path = append(path, container)
	}
	if p.Spec.NodeName == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", r.Name))
	}
	n, err := nodeOf(ctx, c.stores, p.Spec.NodeName)
	if err != nil {
		return nil, err
	}
	location, err := c.kubelets.URL(n, strings.Join(path, "/"), c.query(r.Query))
	if err != nil {
		return nil, err
	}
	if !c.translates || c.extends && slices.Contains(n.Status.DeclaredFeatures, extendedWebSockets) {
		return c.kubelets.Upgrade(location, r.Responder), nil
	}
	return c.handler(location, r.Query, r.Responder), nil
}

// mayCreate refuses who may only read the subresource: WebSockets begin with GET
// requests, and are no less able to do harm than POST requests.
func (c connecter) mayCreate(ctx context.Context, name string) error {
	info := request.InfoFrom(ctx)
	if c.authz == nil || info == nil || info.Verb != "get" {
		return nil
	}
	var a authorizer.Attributes
	authorization.AttributesOf(info, request.UserFrom(ctx), &a)
	a.Verb = "create"
	decision, reason, err := c.authz.Authorize(ctx, &a)
	if decision == authorizer.Allow {
		return nil
	}
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return apierrors.NewForbidden(corev1.Resource("pods"), name, errors.New(reason))
}
