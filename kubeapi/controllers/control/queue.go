package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"triplane.dev/internal/worker"
)

const (
	firstBackOff = 5 * time.Millisecond
	// lastBackOff is the maximum retry interval.
	lastBackOff = time.Minute
)

// Queue calls the function of a controller for keys, in workers that exist only while there are keys.
type Queue[K comparable] = worker.Queue[K]

// NewQueue returns the queue of a controller. name is the label of its metrics, workers how many keys it processes at
// the same time.
func NewQueue[K comparable](e *Env, name string, workers int, work func(ctx context.Context, key K) error) *Queue[K] {
	q := worker.NewQueue(worker.QueueConfig[K]{
		Name: name, Metrics: e.Metrics.queues, Workers: workers, FirstRetry: firstBackOff, LastRetry: lastBackOff,
		Failed: func(key K, failures int, err error) { report(name, key, failures, err) },
	}, work)
	e.WhenDue(q.Due)
	return q
}

// quietRetries is how many failures of a key are expected, because objects change concurrently or depend on
// others.
const quietRetries = 5

func report(name string, key any, failures int, err error) {
	var later *laterError
	if errors.As(err, &later) || apierrors.IsConflict(err) || failures <= quietRetries {
		klog.V(4).InfoS("Controller failed, will retry", "controller", name, "key", key, "err", err)
		return
	}
	klog.InfoS("Controller failed, will retry", "controller", name, "key", key, "err", err)
}

// laterError is not a failure: the key waits for another object.
type laterError struct{ why string }

func (e *laterError) Error() string { return e.why }

// Later returns an error that retries a key without logging.
func Later(format string, args ...any) error { return &laterError{fmt.Sprintf(format, args...)} }
