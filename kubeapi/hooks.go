package kubeapi

import (
	"context"
	"errors"
	"time"

	internalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	corev1 "k8s.io/api/core/v1"
	flowv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/klog/v2"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/serve/server"
	"triplane.dev/generic/storage"
	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/bootstrap"
	"triplane.dev/kubeapi/controllers/leadership"
	"triplane.dev/kubeapi/flowcontrol"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/scheduling"
)

// addHooks names what the server creates for itself as kube-apiserver does.
func (s *Server) addHooks() error {
	process := func(work func(context.Context) error) func(context.Context) error {
		if s.GenericAPIServer.Config().Nested {
			return nil // the outer chain does it for the process
		}
		return work
	}
	defaults := func(work func(context.Context) error) func(context.Context) error {
		if s.Stores.Like() != nil {
			return func(context.Context) error { return nil }
		}
		return work
	}
	produced := make(chan struct{})
	for _, h := range []struct {
		name string
		work func(context.Context) error
	}{
		{bootstrap.NamespacesHook, s.upkeep(s.kept("the namespaces of the system",
			func(ctx context.Context) error { return bootstrap.Namespaces(ctx, s.Stores) }))},
		{bootstrap.PeerHook, process(s.peerHook)},
		{bootstrap.AuthenticationInfoHook, s.upkeep(s.authenticationInfoHook)},
		{bootstrap.IdentityHook, process(s.identityHook)},
		{bootstrap.IdentityGarbageHook, process(s.identityGarbageHook)},
		{"storage-readiness", s.storageHook},
		{bootstrap.TrackingHook, s.upkeep(s.kept("the tracking of service account tokens",
			func(ctx context.Context) error { return bootstrap.LegacyTokenTracking(ctx, s.Stores, time.Now()) }))},
		{"start-service-ip-repair-controllers", s.upkeep(s.repairHook)},
		{bootstrap.RBACHook, defaults(s.kept("the default roles and bindings", func(ctx context.Context) error {
			return bootstrap.RBAC(ctx, s.Stores, s.feature, s.config.PolicyInForce)
		}))},
		{bootstrap.PriorityClassesHook, defaults(s.kept("the system's priority classes", func(ctx context.Context) error {
			return bootstrap.PriorityClasses(ctx, s.Stores, scheduling.SystemClasses())
		}))},
		{bootstrap.FlowControlHook, closing(produced, defaults(s.kept("the default objects of flow control",
			func(ctx context.Context) error { return bootstrap.FlowControl(ctx, s.Stores) })))},
		{bootstrap.ServiceHook, s.upkeep(s.serviceHook)},
		{bootstrap.ServiceCIDRHook, s.upkeep(s.keptAddress("the default ServiceCIDR", func(ctx context.Context) error {
			return bootstrap.ServiceCIDR(ctx, s.Stores, s.config.Groups.ServiceCIDRs)
		}))},
		{flowcontrol.ConsumerHook, process(func(context.Context) error { return s.consumeFlowControl(produced) })},
		{"priority-and-fairness-filter", process(s.flowFilterHook)},
		{"storage-object-count-tracker-hook", process(s.objectCountHook)},
	} {
		if h.work == nil {
			continue
		}
		if err := s.GenericAPIServer.AddPostStartHook(h.name, asServer(h.work)); err != nil {
			return err
		}
	}
	if err := s.addGatedHooks(); err != nil {
		return err
	}
	return s.GenericAPIServer.AddPreShutdownHook("kubernetes-endpoint", s.leaveEndpoints)
}

// addGatedHooks adds those of features that are off unless asked for, with the API that
// they need.
func (s *Server) addGatedHooks() error {
	d := &s.config.Groups
	elections := coordinationv1beta1.SchemeGroupVersion
	if durations := s.config.Leadership; durations != nil && d.Gate("CoordinatedLeaderElection") &&
		d.Served.Serves(elections, "leasecandidates") {
		if err := s.GenericAPIServer.AddPostStartHook(leadership.Hook, func(hook server.HookContext) error {
			hook.Go(func(ctx context.Context) {
				leadership.Run(ctx, hook.LoopbackClientConfig, s.identity.Name(), *durations)
			})
			return nil
		}); err != nil {
			return err
		}
	}
	if !s.config.PublishStorageVersions || !d.Gate("StorageVersionAPI") ||
		!d.Served.Serves(internalv1alpha1.SchemeGroupVersion, "storageversions") {
		return nil
	}
	return s.GenericAPIServer.AddPostStartHook(bootstrap.StorageVersionsHook, func(hook server.HookContext) error {
		return bootstrap.StorageVersions(hook, hook.LoopbackClientConfig, s.identity.Name(), s.Stores)
	})
}

// upkeep returns the work of a hook, which does it when upkeep begins.
func (s *Server) upkeep(work func(context.Context) error) func(context.Context) error {
	if s.config.Upkeep.From == nil {
		return work
	}
	return func(hook context.Context) error {
		by := request.UserFrom(hook)
		context.AfterFunc(s.config.Upkeep.From, func() {
			s.GenericAPIServer.Go(func(ctx context.Context) { s.repeat(request.WithUser(ctx, by), work) })
		})
		return nil
	}
}

// repeat does work until it succeeds.
func (s *Server) repeat(ctx context.Context, work func(context.Context) error) {
	for {
		err := work(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		klog.ErrorS(err, "Failed to put in place what the server keeps, will retry")
		select {
		case <-time.After(s.config.Upkeep.Every):
		case <-ctx.Done():
			return
		}
	}
}

// kept returns work that puts something in place, and has it repaired from then on where
// it is removed or changed.
func (s *Server) kept(what string, work func(context.Context) error) func(context.Context) error {
	return s.keptEvery(s.config.Upkeep.Every, what, work)
}

// keptAddress is kept for the Service kubernetes and its ServiceCIDR, which are repaired every ten seconds at least,
// as by kube-apiserver.
func (s *Server) keptAddress(what string, work func(context.Context) error) func(context.Context) error {
	return s.keptEvery(min(s.config.Upkeep.Every, 10*time.Second), what, work)
}

func (s *Server) keptEvery(interval time.Duration, what string,
	work func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := begin(ctx, what, work); err != nil {
			return err
		}
		s.start(ctx, bootstrap.Keep(interval, what, work))
		return nil
	}
}

// start starts work of the server with the user of ctx.
func (s *Server) start(ctx context.Context, r worker.Runner) {
	s.GenericAPIServer.Start(asUser{r, request.UserFrom(ctx)})
}

// asUser is a runner whose context has a user.
type asUser struct {
	worker.Runner
	user *user.Info
}

// Start implements worker.Runner.
func (u asUser) Start(ctx context.Context) { u.Runner.Start(request.WithUser(ctx, u.user)) }

// beginFor is for how long work is tried again that fails at the start.
const beginFor = 3 * time.Second

// begin does work that is repeated later. Replicas that start at once on an empty store get into
// each other's way: what fails then succeeds a moment later. Without room in the store the server
// serves reads and deletions, and what is missing comes when there is room again.
func begin(ctx context.Context, what string, work func(context.Context) error) error {
	for until, pause := time.Now().Add(beginFor), 50*time.Millisecond; ; pause *= 2 {
		err := work(ctx)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, storage.ErrNoSpace):
			klog.ErrorS(err, "The store is full, the server starts all the same", "missing", what)
			return nil
		case time.Now().After(until):
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// flowFilterHook has priority levels lend and borrow.
func (s *Server) flowFilterHook(context.Context) error {
	if c := s.GenericAPIServer.Config().FlowControl; c != nil {
		s.GenericAPIServer.Go(c.Run)
	}
	return nil
}

// objectCountHook waits until flow control knows how many objects there are of a
// kind whose cache is filled.
func (s *Server) objectCountHook(ctx context.Context) error {
	flow := s.GenericAPIServer.Config().FlowControl
	if flow == nil {
		return nil
	}
	namespaces := corev1.Resource("namespaces")
	if _, err := group.Namespaces(s.Stores).ListCached(request.SkippingUnreadable(ctx), ""); err != nil {
		return err
	}
	if !flow.Counted(namespaces.Group, namespaces.Resource) {
		return errors.New("flow control does not count what is stored")
	}
	return nil
}

// closing returns work that closes done when it succeeded.
func closing(done chan struct{}, work func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := work(ctx)
		if err == nil {
			close(done)
		}
		return err
	}
}

// consumeFlowControl applies flow schemas and priority levels, and has the schemas say whether their levels exist.
// It begins when the default objects are stored. Until then the same objects apply, so that no level is ever
// missing.
func (s *Server) consumeFlowControl(produced <-chan struct{}) error {
	var inForce func([]*flowv1.FlowSchema, []*flowv1.PriorityLevelConfiguration)
	if c := s.GenericAPIServer.Config().FlowControl; c != nil {
		inForce = c.Update
	}
	consumer, err := flowcontrol.NewConsumer(s.Stores, inForce)
	if err != nil {
		return err
	}
	s.GenericAPIServer.Go(func(ctx context.Context) {
		select {
		case <-produced:
			consumer.Run(ctx)
		case <-ctx.Done():
		}
	})
	return nil
}

// asServer runs a hook's work as the server itself.
func asServer(work func(context.Context) error) server.PostStartHookFunc {
	self := &user.Info{Name: user.APIServerUser, Groups: []string{user.SystemPrivileged, user.AllAuthenticated}}
	return func(ctx server.HookContext) error { return work(request.WithUser(ctx, self)) }
}

// feature reports whether a feature gate is on, or a flag that package bootstrap names.
func (s *Server) feature(name string) bool {
	switch name {
	case bootstrap.SimulateWorkloads:
		return s.config.SimulateWorkloads
	case bootstrap.ApplyManifests:
		return s.config.ApplyManifests
	}
	return s.config.Groups.Gate(name)
}
