package controllers

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"triplane/kubeapi/controllers/control"
)

// How long a lease lasts, for how long its holder tries to renew it, and how often
// the others look. A replica that stops gives its lease back; one that dies is
// followed by another within a lease and a look.
const (
	leaseDuration = 8 * time.Second
	renewDeadline = 5 * time.Second
	retryPeriod   = 2 * time.Second
)

// elect works while this replica holds the lease, until ctx ends or the lease is
// lost.
func (m *Manager) elect(ctx context.Context, work func(context.Context)) {
	client, err := coordinationv1client.NewForConfig(m.config.Loopback)
	if err != nil {
		m.set(err)
		<-ctx.Done()
		return
	}
	m.metrics.Leading(false)
	m.set(nil)
	// The lease is given back only when the work has ended.
	holding, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	var acquired control.Acquisition
	ended := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: control.LeaseName},
			Client:    client, LockConfig: resourcelock.ResourceLockConfig{Identity: m.config.ID, EventRecorder: &acquired},
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
		klog.ErrorS(err, "Replicas cannot elect one for the controllers")
		<-ctx.Done()
		return
	}
	defer context.AfterFunc(ctx, func() {
		if !acquired.Load() { // else work ends first, and releases
			release()
		}
	})()
	elector.Run(holding)
	if acquired.Load() {
		<-ended
	}
}
