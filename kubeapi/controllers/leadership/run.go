package leadership

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coordinationv1beta1client "k8s.io/client-go/kubernetes/typed/coordination/v1beta1"
	restclient "k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"triplane.dev/kubeapi/controllers/leaderelection"
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
	c, err := newClient(config)
	if err != nil {
		klog.ErrorS(err, "Failed to run leader elections")
		return
	}
	for ctx.Err() == nil {
		leaderelection.Run(ctx, leaderelection.Config{
			Client: c.Leases(metav1.NamespaceSystem), Name: leaseName, Identity: identity,
			LeaseDuration: d.LeaseDuration, RenewDeadline: d.RenewDeadline, RetryPeriod: d.RetryPeriod,
		}, func(ctx context.Context) { lead(ctx, c, d) })
	}
}

// lead runs the elections until ctx is done.
func lead(ctx context.Context, c *client, d Durations) {
	elections, err := newController(c, d)
	if err != nil {
		klog.ErrorS(err, "Failed to start leader elections")
		<-ctx.Done()
		return
	}
	elections.work(ctx)
}

// client is the client of the API group.
type client struct {
	coordinationv1client.LeasesGetter
	coordinationv1beta1client.LeaseCandidatesGetter
}

func newClient(config *restclient.Config) (*client, error) {
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	candidates, err := coordinationv1beta1client.NewForConfig(config)
	return &client{leases, candidates}, err
}
