package leadership

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"triplane.dev/kubeapi/controllers/control"
)

// leaseName is the name of the Lease of the API server that runs the elections.
const leaseName = "leader-election-controller"

// Durations are the durations of Leases.
type Durations struct {
	// LeaseDuration is the duration of the elected Leases, and of the coordinating API server's. RenewDeadline is
	// how long that server retries to renew its Lease. RetryPeriod is how often servers try to acquire or renew
	// it.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// DefaultDurations returns kube-apiserver's defaults.
func DefaultDurations() Durations {
	return Durations{LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}
}

// Validate returns an error for each invalid value.
func (d Durations) Validate() []error {
	var errs []error
	if d.LeaseDuration < time.Second || d.LeaseDuration <= d.RenewDeadline {
		errs = append(errs,
			errors.New("--coordinated-leadership-lease-duration must be at least a second, and greater than "+
				"--coordinated-leadership-renew-deadline"))
	}
	if d.RetryPeriod <= 0 || d.RenewDeadline <= time.Duration(leaderelection.JitterFactor*float64(d.RetryPeriod)) {
		errs = append(errs,
			errors.New("--coordinated-leadership-renew-deadline must be greater than 1.2 times "+
				"--coordinated-leadership-retry-period, which must be greater than 0"))
	}
	return errs
}

// Run elects leaders while this server holds the Lease of the elections, until ctx is done.
func Run(ctx context.Context, config *restclient.Config, identity string, d Durations) {
	for ctx.Err() == nil {
		if err := lead(ctx, config, identity, d); err != nil {
			klog.ErrorS(err, "Failed to run leader elections")
			return
		}
	}
}

// lead waits for the Lease, and elects until it is lost.
func lead(ctx context.Context, config *restclient.Config, identity string, d Durations) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	var acquired control.Acquisition
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: leaseName},
			Client:    client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: identity,
				EventRecorder: &acquired},
		},
		LeaseDuration: d.LeaseDuration, RenewDeadline: d.RenewDeadline, RetryPeriod: d.RetryPeriod,
		Name: leaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) {
				defer close(ended)
				c, err := New(client, d)
				if err != nil {
					klog.ErrorS(err, "Failed to start leader elections")
					return
				}
				c.work(held)
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	elector.Run(ctx)
	if acquired.Load() {
		<-ended
	}
	return nil
}
