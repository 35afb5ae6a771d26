package control

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/kubeapi/group"
)

// Env has the dependencies of controllers. It lives as long as they do.
type Env struct {
	Stores    *group.Stores
	Feed      *Feed
	Resources *Resources
	Metrics   *Metrics
	Scheme    *runtime.Scheme
	// Loopback configures the clients.
	Loopback *restclient.Config

	mu      sync.Mutex
	closers []func()
	due     []func() time.Time
}

// WhenDue registers a function that returns when a controller has work next, the zero time if it has none. NewQueue
// registers that of the queue.
func (e *Env) WhenDue(f func() time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.due = append(e.due, f)
}

// Due returns when a controller has work next if no object changes before; the zero time if none has. Until all objects
// have been read it returns the current time.
func (e *Env) Due() (next time.Time) {
	select {
	case <-e.Feed.Synced():
	default:
		return time.Now()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, due := range e.due {
		if at := due(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// serviceAccountPrefix is the prefix of users of service accounts in kube-system.
const serviceAccountPrefix = "system:serviceaccount:" + metav1.NamespaceSystem + ":"

// As returns the configuration of clients that impersonate a service account in kube-system.
func (e *Env) As(serviceAccount string) *restclient.Config {
	return e.AsUser(serviceAccountPrefix + serviceAccount)
}

// manager is the field manager of controllers.
const manager = "kube-controller-manager"

// Written returns the managed fields of what controllers write without a client; fields is JSON.
func Written(apiVersion, fields string) metav1.ManagedFieldsEntry {
	return group.Written(manager, apiVersion, fields)
}

// AsUser returns the configuration of clients that impersonate a user.
func (e *Env) AsUser(name string) *restclient.Config {
	c := restclient.CopyConfig(e.Loopback)
	c.Impersonate.UserName = name
	c.UserAgent = manager + "/" + name
	return c
}

// Reading returns a context for reads of Stores. They omit objects that cannot be decoded, so that one of them
// does not block the others.
func Reading(ctx context.Context) context.Context {
	return request.WithUser(request.SkippingUnreadable(ctx),
		&user.Info{Name: user.APIServerUser, Groups: []string{user.SystemPrivileged}})
}

// Recorder returns a recorder of a controller's events, with its service account. It needs memory from its first event.
func (e *Env) Recorder(component, serviceAccount string) *Recorder {
	return &Recorder{open: sync.OnceValues(func() (record.EventRecorder, error) {
		client, err := corev1client.NewForConfig(e.As(serviceAccount))
		if err != nil {
			return nil, err
		}
		broadcaster := record.NewBroadcaster()
		watch := broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: client.Events("")})
		e.mu.Lock()
		defer e.mu.Unlock()
		e.closers = append(e.closers, func() {
			watch.Stop()
			broadcaster.Shutdown()
		})
		return broadcaster.NewRecorder(e.Scheme, corev1.EventSource{Component: component}), nil
	})}
}

// Recorder records events. It is created for the first one.
type Recorder struct {
	open func() (record.EventRecorder, error)
}

// Eventf is that of record.EventRecorder.
func (r *Recorder) Eventf(object runtime.Object, kind, reason, message string, args ...any) {
	opened, err := r.open()
	if err != nil {
		klog.ErrorS(err, "Failed to record an event", "reason", reason)
		return
	}
	opened.Eventf(object, kind, reason, message, args...)
}

// Close releases the resources of the environment.
func (e *Env) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.closers {
		c()
	}
	e.closers = nil
}
