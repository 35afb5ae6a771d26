package controllers

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/controllers/leaderelection"
)

// Durations of the lease. A replica that stops releases its lease. After a crash another replica takes over within
// leaseDuration and retryPeriod.
const (
	leaseDuration = 8 * time.Second
	renewDeadline = 5 * time.Second
	retryPeriod   = 2 * time.Second
)

// elect runs work while this replica holds the lease, until ctx is done or the lease is lost.
func (m *Manager) elect(ctx context.Context, work func(context.Context)) {
	client, err := coordinationv1client.NewForConfig(m.config.Loopback)
	m.set(err)
	if err != nil {
		<-ctx.Done()
		return
	}
	m.metrics.Leading(false)
	leaderelection.Run(ctx, leaderelection.Config{
		Client: client.Leases(metav1.NamespaceSystem), Name: control.LeaseName, Identity: m.config.ID,
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: true,
	}, work)
}
