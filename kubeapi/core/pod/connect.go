package pod

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane/generic/authorization"
	"triplane/generic/authorization/authorizer"
	"triplane/generic/registry"
	"triplane/generic/registry/rest"
	"triplane/generic/request"
	"triplane/kubeapi/group"
)

// kubeletOf is where the kubelet of a pod's node listens, or the reason why none
// can be reached.
func kubeletOf(ctx context.Context, stores *group.Stores, node string) error {
	n, err := group.Get[*corev1.Node](ctx, stores, corev1.Resource("nodes"), "", node, group.Cached)
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

// validateContainer reports a container that does not exist, or that has to be
// named and is not.
func validateContainer(p pod, name, annotation string) error {
	if name == "" {
		switch len(p.Spec.Containers) {
		case 0:
			return apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s", p.Name))
		case 1:
			return nil
		}
		if d := p.Annotations["kubectl.kubernetes.io/default-container"]; d != "" && annotation != "" {
			return nil
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
		return apierrors.NewBadRequest(msg)
	}
	for _, cs := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range cs {
			if cs[i].Name == name {
				return nil
			}
		}
	}
	for i := range p.Spec.EphemeralContainers {
		if p.Spec.EphemeralContainers[i].Name == name {
			return nil
		}
	}
	return apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, p.Name))
}

// connecter serves a subresource that is a connection to a pod's kubelet.
type connecter struct {
	pods    *registry.Store[pod]
	stores  *group.Stores
	authz   authorizer.Authorizer // nil allows everything
	options func() runtime.Object
	// container returns the container that the options name; nil where none does.
	container func(opts runtime.Object) string
}

func connecters(pods *registry.Store[pod], stores *group.Stores, authz authorizer.Authorizer) map[string]rest.Storage {
	connect := func(options func() runtime.Object, container func(runtime.Object) string) rest.Storage {
		return connecter{pods, stores, authz, options, container}
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
	}
}

func (c connecter) New() runtime.Object { return c.options() }

// ConnectMethods implements rest.Connecter.
func (c connecter) ConnectMethods() []string { return []string{"GET", "POST"} }

// NewConnectOptions implements rest.Connecter.
func (c connecter) NewConnectOptions() (runtime.Object, bool, string) {
	return c.options(), false, ""
}

// Connect implements rest.Connecter.
func (c connecter) Connect(ctx context.Context, name string, opts runtime.Object, _ rest.Responder) (http.Handler, error) {
	if err := c.mayCreate(ctx, name); err != nil {
		return nil, err
	}
	p, err := c.pods.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	if c.container != nil {
		if err := validateContainer(p, c.container(opts), ""); err != nil {
			return nil, err
		}
	}
	if p.Spec.NodeName == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", name))
	}
	// It is the pod that is not found, in kube-apiserver's words.
	err = kubeletOf(ctx, c.stores, p.Spec.NodeName)
	if apierrors.IsNotFound(err) {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), p.Spec.NodeName)
	}
	return nil, err
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
