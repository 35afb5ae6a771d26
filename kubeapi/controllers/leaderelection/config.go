package leaderelection

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JitterFactor is the greatest share of RetryPeriod that is added to it between two attempts to acquire a Lease. It is
// client-go's.
const JitterFactor = 1.2

// Client reads and writes the Leases of a namespace. A typed client of client-go is one.
type Client interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error)
	Create(ctx context.Context, l *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error)
	Update(ctx context.Context, l *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error)
}

// Config is how a process takes part in an election. All fields but ReleaseOnCancel are required.
type Config struct {
	// Client writes the Lease Name.
	Client Client
	Name   string
	// Identity is the holder in the Lease, and differs between processes.
	Identity string
	// LeaseDuration is how long others wait for a renewal; the Lease has its whole seconds, which must be at least
	// one. RenewDeadline is how long renewals are retried before the work is stopped, and less than LeaseDuration.
	// RetryPeriod is the time between two attempts to acquire or renew the Lease. RenewDeadline is greater than
	// JitterFactor times RetryPeriod.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// ReleaseOnCancel releases the Lease after the work has returned, so that another process need not wait for
	// LeaseDuration.
	ReleaseOnCancel bool
}

// seconds is the duration that the Lease has.
func (c *Config) seconds() int32 { return int32(c.LeaseDuration / time.Second) }

// patience is how long the work may run after the start of a renewal that succeeded: until RenewDeadline has passed
// since the next one, and less than the duration of the Lease, so that the work has time to return.
func (c *Config) patience() time.Duration {
	const eighths = 7 // of the duration
	return min(c.RetryPeriod+c.RenewDeadline, time.Duration(c.seconds())*time.Second*eighths/8)
}

// interval is the time between two renewals. One renewal may fail without stopping the work.
func (c *Config) interval() time.Duration { return min(c.RetryPeriod, c.patience()/2) }
