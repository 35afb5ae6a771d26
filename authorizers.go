package triplane

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/informers"
	"triplane.dev/generic/guard/authorization/configuration"
	"triplane.dev/generic/guard/authorization/rbac"
	"triplane.dev/generic/run/authoptions"
	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/nodeauthorizer"
)

// authorizers are the authorizers that decide by stored objects, which they watch from the server's start.
type authorizers struct {
	stores *group.Stores
	rbac   *rbac.Authorizer
	node   *nodeauthorizer.OnDemand
}

func newAuthorizers(stores *group.Stores, policy *rbac.Authorizer, o *Options) *authorizers {
	enabled := o.Compatibility.Enabled
	return &authorizers{stores, policy, nodeauthorizer.NewOnDemand(o.Kube.RuntimeConfig.Serves, nodeauthorizer.Features{
		TrustBundles: enabled("ClusterTrustBundle"), PodCertificates: enabled("PodCertificateRequest"),
	})}
}

// modes returns the authorizers by --authorization-mode.
func (a *authorizers) modes() map[string]authoptions.Mode {
	return map[string]authoptions.Mode{
		configuration.RBAC: {Authorizer: a.rbac, RuleResolver: a.rbac},
		configuration.Node: {Authorizer: a.node, RuleResolver: a.node.Authorizer},
	}
}

// startHook watches the objects while the server runs. With RBAC it returns when the authorizer has synced, unless its
// decisions wait for that.
func (a *authorizers) startHook(withRBAC bool) server.PostStartHook {
	return server.PostStartHook{Name: "generic-apiserver-start-informers", Func: func(hook server.HookContext) error {
		hook.Go(func(ctx context.Context) { a.node.Run(ctx, informers.NewFactory(a.stores.Source)) })
		if !withRBAC {
			return nil
		}
		synced := make(chan struct{})
		hook.Go(func(ctx context.Context) { a.rbac.Follow(ctx, a.stores.Source, synced) })
		if a.rbac.OnDemand() {
			return nil
		}
		select {
		case <-synced:
			return nil
		case <-hook.Done():
			return errors.New("RBAC objects could not be listed")
		}
	}}
}

// policyWait bounds how long the start waits for RBAC to see the default policy, parts of which may have been
// deleted.
const policyWait = 10 * time.Second

// policyInEffect returns when RBAC enforces these roles and bindings.
func (a *authorizers) policyInEffect(ctx context.Context, policy []metav1.Object) error {
	limited, cancel := context.WithTimeout(ctx, policyWait)
	defer cancel()
	if err := a.rbac.Await(limited, policy); ctx.Err() == nil && err != nil {
		klog.ErrorS(err, "Timed out waiting for RBAC to sync the default policy")
	}
	return ctx.Err()
}
