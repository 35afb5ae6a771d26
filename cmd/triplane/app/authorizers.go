package app

import (
	"context"
	"errors"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"triplane/generic/authorization/rbac"
	"triplane/generic/options"
	"triplane/generic/server"
)

// rbacFeed keeps the RBAC authorizer up to date with the stored objects.
type rbacFeed struct{ *rbac.Authorizer }

func newRBACFeed() *rbacFeed { return &rbacFeed{rbac.New()} }

// modes are the authorizers that need objects.
func (p *parts) modes() map[string]options.Mode {
	return map[string]options.Mode{
		options.ModeRBAC: {Authorizer: p.rbac.Authorizer, RuleResolver: p.rbac.Authorizer},
	}
}

// install has the server follow roles and bindings from its start on. It is
// ready when it knows those that are there.
func (f *rbacFeed) install(s *server.GenericAPIServer) error {
	return s.AddPostStartHook("rbac/informers", func(hook server.HookContext) error {
		client, err := kubernetes.NewForConfig(hook.LoopbackClientConfig)
		if err != nil {
			return err
		}
		factory := informers.NewSharedInformerFactory(client, 0)
		kinds := factory.Rbac().V1()
		var synced []cache.InformerSynced
		for _, informer := range []cache.SharedIndexInformer{
			kinds.ClusterRoles().Informer(), kinds.ClusterRoleBindings().Informer(),
			kinds.Roles().Informer(), kinds.RoleBindings().Informer(),
		} {
			registration, err := informer.AddEventHandler(f.Handler())
			if err != nil {
				return err
			}
			synced = append(synced, registration.HasSynced)
		}
		factory.StartWithContext(hook)
		s.Go(func(ctx context.Context) {
			<-ctx.Done()
			factory.Shutdown()
		})
		if !cache.WaitForCacheSync(hook.Done(), synced...) {
			return errors.New("RBAC objects could not be listed")
		}
		return nil
	})
}
