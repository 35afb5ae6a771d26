package kubeapi

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/kubeapi/bootstrap"
	"triplane.dev/kubeapi/controllers/roleaggregation"
	"triplane.dev/kubeapi/scheduling"
)

// WriteDefaults creates in an empty storage the objects that a server with group.NewStoresLike does not create: the
// default policy with its aggregated rules, priority classes, and the objects of flow control; and those which such a
// server only repairs: namespaces, config maps, the Service kubernetes with its IP, and the default ServiceCIDR.
// c.Groups.Stores must be of that kind, too. created is the time of the creation.
func WriteDefaults(ctx context.Context, c *Config, created time.Time) error {
	s := &Server{config: c.Complete()}
	s.Stores = s.config.Groups.Stores
	if _, err := s.buildLater(); err != nil {
		return err
	}
	unwatched := func(context.Context, []metav1.Object) error { return nil }
	err := bootstrap.RBAC(ctx, s.Stores, s.feature, unwatched)
	if err == nil {
		err = roleaggregation.Aggregate(ctx, s.Stores)
	}
	err = errors.Join(err, bootstrap.PriorityClasses(ctx, s.Stores, scheduling.SystemClasses()),
		bootstrap.FlowControl(ctx, s.Stores), s.authenticationInfo().Publish(ctx, s.Stores),
		bootstrap.Namespaces(ctx, s.Stores), bootstrap.LegacyTokenTracking(ctx, s.Stores, created),
		bootstrap.ServiceCIDR(ctx, s.Stores, s.config.Groups.ServiceCIDRs))
	if service := s.kubernetesService(); service != nil {
		err = errors.Join(err, service.ensure(ctx))
	}
	return err
}
