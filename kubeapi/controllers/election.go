package controllers

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"triplane.dev/kubeapi/controllers/control"
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
	if err != nil {
		m.set(err)
		<-ctx.Done()
		return
	}
	m.metrics.Leading(false)
	m.set(nil)
	// The lease must be released only after the work has stopped.
	holding, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	var acquired control.Acquisition
	ended := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: control.LeaseName},
			Client:    client, LockConfig: resourcelock.ResourceLockConfig{Identity: m.config.ID,
				EventRecorder: &acquired},
		},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		ReleaseOnCancel: true, Name: control.LeaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) {
				defer close(ended)
				working, stop := context.WithCancel(held)
				defer stop()
				defer context.AfterFunc(ctx, stop)()
				work(working)
				release()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		m.set(err)
		klog.ErrorS(err, "Failed to run leader election of the controllers")
		<-ctx.Done()
		return
	}
	defer context.AfterFunc(ctx, func() {
		if !acquired.Load() { // otherwise work stops first, and then releases
			release()
		}
	})()
	elector.Run(holding)
	if acquired.Load() {
		<-ended
	}
}
