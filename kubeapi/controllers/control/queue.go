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

	"triplane/internal/worker"
)

const (
	firstBackOff = 5 * time.Millisecond
	// lastBackOff is how often what cannot be done is tried in the end.
	lastBackOff = time.Minute
)

// Queue runs a function for keys, never for one key twice at a time, and again
// after an error. Its methods are safe for concurrent use.
type Queue[K comparable] struct {
	name  string
	work  func(ctx context.Context, key K) error
	queue workqueue.TypedRateLimitingInterface[K]
}

// NewQueue makes the queue of a controller. name is the label of its metrics.
func NewQueue[K comparable](e *Env, name string, work func(ctx context.Context, key K) error) *Queue[K] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[K](firstBackOff, lastBackOff)
	config := workqueue.TypedRateLimitingQueueConfig[K]{Name: name, MetricsProvider: e.Metrics.queues}
	return &Queue[K]{name: name, work: work, queue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config)}
}

// Add enters a key that is not waiting already.
func (q *Queue[K]) Add(key K) { q.queue.Add(key) }

// AddAfter enters a key after a while.
func (q *Queue[K]) AddAfter(key K, wait time.Duration) { q.queue.AddAfter(key, wait) }

// Run works until ctx ends and all workers have returned.
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
		return true // the queue is emptied
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

// quietRetries is how many failures of a key are expected: an object has changed in
// between, or waits for another.
const quietRetries = 5

func (q *Queue[K]) report(key K, err error) {
	var later *laterError
	if errors.As(err, &later) || apierrors.IsConflict(err) || q.queue.NumRequeues(key) < quietRetries {
		klog.V(4).InfoS("A controller tries again", "controller", q.name, "key", key, "err", err)
		return
	}
	klog.InfoS("A controller tries again", "controller", q.name, "key", key, "err", err)
}

// do calls the function; a panic in it is an error of the key.
func (q *Queue[K]) do(ctx context.Context, key K) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			klog.ErrorS(err, "A controller panicked", "controller", q.name, "key", key, "stack", string(debug.Stack()))
		}
	}()
	return q.work(ctx, key)
}

// laterError is no failure: there is something to wait for.
type laterError struct{ why string }

func (e *laterError) Error() string { return e.why }

// Later returns an error with which a key is tried again and nothing is logged.
func Later(format string, args ...any) error { return &laterError{fmt.Sprintf(format, args...)} }
