package control

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"triplane.dev/internal/worker"
)

const (
	firstBackOff = 5 * time.Millisecond
	// lastBackOff is the maximum retry interval.
	lastBackOff = time.Minute
)

// Queue calls a function for keys. It never processes a key twice at the same time, and retries after an error.
// Its methods are safe for concurrent use.
type Queue[K comparable] struct {
	name  string
	work  func(ctx context.Context, key K) error
	queue workqueue.TypedRateLimitingInterface[K]
}

// NewQueue returns the queue of a controller. name is the label of its metrics.
func NewQueue[K comparable](e *Env, name string, work func(ctx context.Context, key K) error) *Queue[K] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[K](firstBackOff, lastBackOff)
	config := workqueue.TypedRateLimitingQueueConfig[K]{Name: name, MetricsProvider: e.Metrics.queues}
	return &Queue[K]{name: name, work: work, queue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config)}
}

// Add adds a key, unless it is queued already.
func (q *Queue[K]) Add(key K) { q.queue.Add(key) }

// AddAfter adds a key after a delay.
func (q *Queue[K]) AddAfter(key K, wait time.Duration) { q.queue.AddAfter(key, wait) }

// Run processes keys until ctx is done, and returns when all workers have returned.
func (q *Queue[K]) Run(ctx context.Context, workers int) {
	stop := context.AfterFunc(ctx, q.queue.ShutDown)
	defer stop()
	var running worker.Group
	for range workers {
		running.Go(func() {
			for q.next(ctx) {
			}
		})
	}
	running.Wait()
}

func (q *Queue[K]) next(ctx context.Context) bool {
	key, end := q.queue.Get()
	if end {
		return false
	}
	defer q.queue.Done(key)
	if ctx.Err() != nil {
		return true // drains the queue
	}
	err := q.do(ctx, key)
	if err == nil {
		q.queue.Forget(key)
		return true
	}
	if ctx.Err() != nil {
		return true
	}
	q.report(key, err)
	q.queue.AddRateLimited(key)
	return true
}

// quietRetries is how many failures of a key are expected, because objects change concurrently or depend on
// others.
const quietRetries = 5

func (q *Queue[K]) report(key K, err error) {
	var later *laterError
	if errors.As(err, &later) || apierrors.IsConflict(err) || q.queue.NumRequeues(key) < quietRetries {
		klog.V(4).InfoS("Controller failed, will retry", "controller", q.name, "key", key, "err", err)
		return
	}
	klog.InfoS("Controller failed, will retry", "controller", q.name, "key", key, "err", err)
}

// do calls the function, and returns a panic as an error.
func (q *Queue[K]) do(ctx context.Context, key K) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			klog.ErrorS(err, "Controller panicked", "controller", q.name, "key", key, "stack", string(debug.Stack()))
		}
	}()
	return q.work(ctx, key)
}

// laterError is not a failure: the key waits for another object.
type laterError struct{ why string }

func (e *laterError) Error() string { return e.why }

// Later returns an error that retries a key without logging.
func Later(format string, args ...any) error { return &laterError{fmt.Sprintf(format, args...)} }
