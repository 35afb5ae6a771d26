package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/authorization"
	"triplane/generic/authorization/authorizer"
	"triplane/generic/registry"
	"triplane/generic/registry/rest"
	"triplane/generic/request"
	"triplane/kubeapi/group"
)

// proxyMethods are the methods that a proxy passes on.
var proxyMethods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}

// kubeletOf is where the kubelet of a pod's node listens, or the reason why none
// can be reached.
func kubeletOf(ctx context.Context, stores *group.Stores, node string) error {
	n, err := group.Get[*corev1.Node](ctx, stores, groupResource("nodes"), "", node, group.Cached)
	if err != nil {
		return err
	}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeHostName {
			return apierrors.NewServiceUnavailable(fmt.Sprintf("the kubelet of node %q cannot be reached at %s", node, a.Address))
		}
	}
	return fmt.Errorf("no preferred addresses found; known addresses: %v", n.Status.Addresses)
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
		names := func(cs []corev1.Container) []string {
			var out []string
			for i := range cs {
				out = append(out, cs[i].Name)
			}
			return out
		}
		msg := fmt.Sprintf("a container name must be specified for pod %s, choose one of: %v", p.Name, names(p.Spec.Containers))
		if len(p.Spec.InitContainers) > 0 {
			msg += fmt.Sprintf(" or one of the init containers: %v", names(p.Spec.InitContainers))
		}
		return "", apierrors.NewBadRequest(msg)
	}
	for _, cs := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range cs {
			if cs[i].Name == name {
				return name, nil
			}
		}
	}
	for i := range p.Spec.EphemeralContainers {
		if p.Spec.EphemeralContainers[i].Name == name {
			return name, nil
		}
	}
	return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, p.Name))
}

// podConnecter serves a subresource that is a connection to a pod's kubelet.
type podConnecter struct {
	pods    *registry.Store[pod]
	stores  *group.Stores
	authz   authorizer.Authorizer // nil allows everything
	options func() runtime.Object
	// container tells which container the options name; nil where none does.
	container func(opts runtime.Object) string
}

func podConnecters(pods *registry.Store[pod], stores *group.Stores, authz authorizer.Authorizer) map[string]rest.Storage {
	connect := func(options func() runtime.Object, container func(runtime.Object) string) rest.Storage {
		return podConnecter{pods, stores, authz, options, container}
	}
	return map[string]rest.Storage{
		"exec": connect(func() runtime.Object { return &corev1.PodExecOptions{} }, func(o runtime.Object) string {
			x, _ := o.(*corev1.PodExecOptions)
			return x.Container
		}),
		"attach": connect(func() runtime.Object { return &corev1.PodAttachOptions{} }, func(o runtime.Object) string {
			x, _ := o.(*corev1.PodAttachOptions)
			return x.Container
		}),
		"portforward": connect(func() runtime.Object { return &corev1.PodPortForwardOptions{} }, nil),
		"proxy":       podProxy{pods},
	}
}

func (c podConnecter) New() runtime.Object { return c.options() }

// ConnectMethods implements rest.Connecter.
func (c podConnecter) ConnectMethods() []string { return []string{"GET", "POST"} }

// NewConnectOptions implements rest.Connecter.
func (c podConnecter) NewConnectOptions() (runtime.Object, bool, string) {
	return c.options(), false, ""
}

// Connect implements rest.Connecter.
func (c podConnecter) Connect(ctx context.Context, name string, opts runtime.Object, _ rest.Responder) (http.Handler, error) {
	if err := c.mayCreate(ctx, name); err != nil {
		return nil, err
	}
	p, err := c.pods.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	if c.container != nil {
		if _, err := containerOf(p, c.container(opts), ""); err != nil {
			return nil, err
		}
	}
	if p.Spec.NodeName == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", name))
	}
	// It is the pod that is not found, in kube-apiserver's words.
	err = kubeletOf(ctx, c.stores, p.Spec.NodeName)
	if apierrors.IsNotFound(err) {
		return nil, apierrors.NewNotFound(groupResource("pods"), p.Spec.NodeName)
	}
	return nil, err
}

// mayCreate refuses who may only read the subresource: WebSockets begin with GET
// requests, and are no less able to do harm than POST requests.
func (c podConnecter) mayCreate(ctx context.Context, name string) error {
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
	return apierrors.NewForbidden(groupResource("pods"), name, errors.New(reason))
}

// podProxy serves "pods/proxy".
type podProxy struct{ pods *registry.Store[pod] }

func (podProxy) New() runtime.Object { return &corev1.PodProxyOptions{} }

// ConnectMethods implements rest.Connecter.
func (podProxy) ConnectMethods() []string { return proxyMethods }

// NewConnectOptions implements rest.Connecter.
func (podProxy) NewConnectOptions() (runtime.Object, bool, string) {
	return &corev1.PodProxyOptions{}, true, "path"
}

// Connect implements rest.Connecter.
func (c podProxy) Connect(ctx context.Context, id string, opts runtime.Object, r rest.Responder) (http.Handler, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(id)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid pod request %q", id))
	}
	p, err := c.pods.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	if port == "" {
		for i := range p.Spec.Containers {
			if len(p.Spec.Containers[i].Ports) > 0 {
				port = strconv.Itoa(int(p.Spec.Containers[i].Ports[0].ContainerPort))
				break
			}
		}
	}
	ip := p.Status.PodIP
	if len(p.Status.PodIPs) > 0 {
		ip = p.Status.PodIPs[0].IP
	}
	if err := proxyable(ip); err != nil {
		return nil, err
	}
	x, _ := opts.(*corev1.PodProxyOptions)
	return proxyTo(scheme, ip, port, x.Path, r), nil
}

// proxyable refuses addresses that would lead back to this machine.
func proxyable(text string) error {
	ip := net.ParseIP(text)
	if ip == nil || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast() || ip.IsUnspecified() {
		return apierrors.NewBadRequest("address not allowed")
	}
	return nil
}

// podLog serves "pods/log".
type podLog struct {
	pods   *registry.Store[pod]
	stores *group.Stores
}

func (podLog) New() runtime.Object { return &corev1.Pod{} }

// NewGetOptions implements rest.GetterWithOptions.
func (podLog) NewGetOptions() runtime.Object { return &corev1.PodLogOptions{} }

// ProducesMIMETypes implements rest.StorageMetadata.
func (podLog) ProducesMIMETypes(string) []string { return []string{"text/plain"} }

// ProducesObject implements rest.StorageMetadata: a log is a text, no Pod.
func (podLog) ProducesObject(string) any { return "" }

// GetWithOptions implements rest.GetterWithOptions.
func (l podLog) GetWithOptions(ctx context.Context, name string, opts runtime.Object) (runtime.Object, error) {
	o, ok := opts.(*corev1.PodLogOptions)
	if !ok {
		return nil, fmt.Errorf("unexpected options %T", opts)
	}
	if errs := validateLogOptions(o); len(errs) > 0 {
		return nil, apierrors.NewInvalid(kind("PodLogOptions").GroupKind(), name, errs)
	}
	p, err := l.pods.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	if _, err := containerOf(p, o.Container, "log"); err != nil {
		return nil, err
	}
	if p.Spec.NodeName == "" {
		return noLog{}, nil
	}
	err = kubeletOf(ctx, l.stores, p.Spec.NodeName)
	if apierrors.IsNotFound(err) {
		return nil, apierrors.NewNotFound(groupResource("pods"), p.Spec.NodeName)
	}
	return nil, err
}

func validateLogOptions(o *corev1.PodLogOptions) field.ErrorList {
	var errs field.ErrorList
	if o.TailLines != nil && *o.TailLines < 0 {
		errs = append(errs, field.Invalid(field.NewPath("tailLines"), *o.TailLines, "must be greater than or equal to 0"))
	}
	if o.LimitBytes != nil && *o.LimitBytes < 1 {
		errs = append(errs, field.Invalid(field.NewPath("limitBytes"), *o.LimitBytes, "must be greater than 0"))
	}
	switch {
	case o.SinceSeconds != nil && o.SinceTime != nil:
		errs = append(errs, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
	case o.SinceSeconds != nil && *o.SinceSeconds < 1:
		errs = append(errs, field.Invalid(field.NewPath("sinceSeconds"), *o.SinceSeconds, "must be greater than 0"))
	}
	if o.Stream != nil && *o.Stream != corev1.LogStreamAll {
		errs = append(errs, field.Forbidden(field.NewPath("stream"), "may not be specified"))
	}
	return errs
}

// noLog is the log of a pod that no node has yet.
type noLog struct{}

func (noLog) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (n noLog) DeepCopyObject() runtime.Object { return n }

// InputStream implements rest.Streamer.
func (noLog) InputStream(context.Context, string, string) (io.ReadCloser, bool, string, error) {
	return nil, false, "text/plain", nil
}

// nodeProxy serves "nodes/proxy".
type nodeProxy struct{ stores *group.Stores }

func (nodeProxy) New() runtime.Object { return &corev1.NodeProxyOptions{} }

// ConnectMethods implements rest.Connecter.
func (nodeProxy) ConnectMethods() []string { return proxyMethods }

// NewConnectOptions implements rest.Connecter.
func (nodeProxy) NewConnectOptions() (runtime.Object, bool, string) {
	return &corev1.NodeProxyOptions{}, true, "path"
}

// Connect implements rest.Connecter.
func (c nodeProxy) Connect(ctx context.Context, id string, opts runtime.Object, r rest.Responder) (http.Handler, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(id)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid node request %q", id))
	}
	n, err := group.Get[*corev1.Node](ctx, c.stores, groupResource("nodes"), "", name, group.Consistent)
	if err != nil {
		return nil, err
	}
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeInternalIP {
			continue
		}
		if err := proxyable(a.Address); err != nil {
			return nil, err
		}
		if port == "" {
			scheme, port = "https", strconv.Itoa(int(n.Status.DaemonEndpoints.KubeletEndpoint.Port))
		}
		x, _ := opts.(*corev1.NodeProxyOptions)
		return proxyTo(scheme, a.Address, port, x.Path, r), nil
	}
	return nil, fmt.Errorf("no preferred addresses found; known addresses: %v", n.Status.Addresses)
}

// serviceProxy serves "services/proxy".
type serviceProxy struct{ stores *group.Stores }

func (serviceProxy) New() runtime.Object { return &corev1.ServiceProxyOptions{} }

// ConnectMethods implements rest.Connecter.
func (serviceProxy) ConnectMethods() []string { return proxyMethods }

// NewConnectOptions implements rest.Connecter.
func (serviceProxy) NewConnectOptions() (runtime.Object, bool, string) {
	return &corev1.ServiceProxyOptions{}, true, "path"
}

// Connect implements rest.Connecter. It finds the endpoints before the service:
// a service that has none is as good as not found.
func (c serviceProxy) Connect(ctx context.Context, id string, opts runtime.Object, r rest.Responder) (http.Handler, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(id)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid service request %q", id))
	}
	namespace := request.NamespaceFrom(ctx)
	port, err := c.portName(ctx, namespace, name, port)
	if err != nil {
		return nil, err
	}
	e, err := group.Get[*corev1.Endpoints](ctx, c.stores, groupResource("endpoints"), namespace, name, group.Cached)
	if apierrors.IsNotFound(err) {
		return nil, apierrors.NewNotFound(groupResource("services"), name)
	}
	if err != nil {
		return nil, err
	}
	ip, number, ok := c.endpoint(ctx, e, port)
	if !ok {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
	}
	x, _ := opts.(*corev1.ServiceProxyOptions)
	return proxyTo(scheme, ip, strconv.Itoa(int(number)), x.Path, r), nil
}

// portName is the name of a port of a service; a number is that of the service's
// port.
func (c serviceProxy) portName(ctx context.Context, namespace, name, port string) (string, error) {
	number, err := strconv.ParseInt(port, 10, 64)
	if err != nil {
		return port, nil
	}
	s, err := group.Get[*corev1.Service](ctx, c.stores, groupResource("services"), namespace, name, group.Consistent)
	if err != nil {
		return "", err
	}
	for i := range s.Spec.Ports {
		if int64(s.Spec.Ports[i].Port) == number {
			return s.Spec.Ports[i].Name, nil
		}
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", number, name))
}

// endpoint picks an address behind a port of a service, any of those that there
// are.
func (c serviceProxy) endpoint(ctx context.Context, e *corev1.Endpoints, port string) (string, int32, bool) {
	for _, i := range rand.Perm(len(e.Subsets)) {
		ss := &e.Subsets[i]
		for j := range ss.Ports {
			if ss.Ports[j].Name != port {
				continue
			}
			for _, k := range rand.Perm(len(ss.Addresses)) {
				if a := &ss.Addresses[k]; c.ofPod(ctx, a) {
					return a.IP, ss.Ports[j].Port, true
				}
			}
		}
	}
	return "", 0, false
}

// ofPod tells whether an address is that of a pod. No other is proxied to:
// whoever may write endpoints could reach anything else.
func (c serviceProxy) ofPod(ctx context.Context, a *corev1.EndpointAddress) bool {
	if a.TargetRef == nil || a.TargetRef.Kind != "Pod" || proxyable(a.IP) != nil {
		return false
	}
	p, err := group.Get[pod](ctx, c.stores, groupResource("pods"), a.TargetRef.Namespace, a.TargetRef.Name, group.Cached)
	return err == nil && slices.ContainsFunc(p.Status.PodIPs, func(ip corev1.PodIP) bool { return ip.IP == a.IP })
}
