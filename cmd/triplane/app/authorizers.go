package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"triplane/generic/authorization/authorizer"
	"triplane/generic/authorization/node"
	"triplane/generic/authorization/rbac"
	"triplane/generic/options"
	"triplane/generic/server"
)

// modes are the authorizers that need objects.
func (p *parts) modes() map[string]options.Mode {
	return map[string]options.Mode{
		options.ModeRBAC: {Authorizer: p.rbac.Authorizer, RuleResolver: p.rbac.Authorizer},
		options.ModeNode: {Authorizer: p.node, RuleResolver: p.node.Authorizer},
	}
}

// rbacFeed keeps the RBAC authorizer up to date with the stored objects.
type rbacFeed struct{ *rbac.Authorizer }

func newRBACFeed() *rbacFeed { return &rbacFeed{rbac.New()} }

// install has the server follow roles and bindings from its start on. It is
// ready when it knows those that are there.
func (f *rbacFeed) install(s *server.GenericAPIServer) error {
	return s.AddPostStartHook("generic-apiserver-start-informers", func(hook server.HookContext) error {
		synced, err := follow(s, hook.LoopbackClientConfig, f.Handler(), func(factory informers.SharedInformerFactory) []cache.SharedIndexInformer {
			kinds := factory.Rbac().V1()
			return []cache.SharedIndexInformer{
				kinds.ClusterRoles().Informer(), kinds.ClusterRoleBindings().Informer(),
				kinds.Roles().Informer(), kinds.RoleBindings().Informer(),
			}
		})
		if err != nil {
			return err
		}
		select {
		case <-synced:
			return nil
		case <-hook.Done():
			return errors.New("RBAC objects could not be listed")
		}
	})
}

// firstSync is how long a node's first request waits for the objects by which
// it is judged.
const firstSync = 10 * time.Second

// nodeFeed keeps the node authorizer up to date, from the first request of a
// node on: a server without nodes does not hold its pods a second time.
type nodeFeed struct {
	*node.Authorizer

	once   sync.Once
	server *server.GenericAPIServer
	synced <-chan struct{}
}

func newNodeFeed() *nodeFeed { return &nodeFeed{Authorizer: node.New()} }

// Authorize implements authorizer.Authorizer.
func (f *nodeFeed) Authorize(ctx context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	if _, ok := node.Name(a.User); !ok {
		return authorizer.NoOpinion, "", nil
	}
	f.once.Do(f.begin)
	select {
	case <-f.synced:
	case <-ctx.Done():
	case <-time.After(firstSync):
	}
	return f.Authorizer.Authorize(ctx, a)
}

func (f *nodeFeed) begin() {
	var err error
	f.synced, err = follow(f.server, f.server.LoopbackClientConfig, f.Handler(), func(factory informers.SharedInformerFactory) []cache.SharedIndexInformer {
		pods := factory.Core().V1().Pods().Informer()
		if err := pods.SetTransform(node.Trim); err != nil {
			klog.ErrorS(err, "Pods are held whole for the node authorizer")
		}
		return []cache.SharedIndexInformer{
			pods, factory.Core().V1().PersistentVolumes().Informer(),
			factory.Storage().V1().VolumeAttachments().Informer(),
			factory.Resource().V1().ResourceSlices().Informer(),
		}
	})
	if err != nil {
		klog.ErrorS(err, "The node authorizer sees no objects")
	}
}

// follow runs informers as long as the server and has the handler told of their
// objects. The channel is closed when it knows all those that are there.
func follow(s *server.GenericAPIServer, config *restclient.Config, handler cache.ResourceEventHandler,
	choose func(informers.SharedInformerFactory) []cache.SharedIndexInformer) (<-chan struct{}, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	var handled []cache.DoneChecker
	for _, informer := range choose(factory) {
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return nil, err
		}
		handled = append(handled, registration.HasSyncedChecker())
	}
	synced := make(chan struct{})
	s.Go(func(ctx context.Context) {
		factory.StartWithContext(ctx)
		if cache.WaitFor(ctx, "", handled...) {
			close(synced)
		}
		<-ctx.Done()
		factory.Shutdown()
	})
	return synced, nil
}
