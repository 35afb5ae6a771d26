package control

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"triplane/generic/base/request"
	"triplane/generic/base/user"
	"triplane/kubeapi/group"
)

// Env is what controllers are made from. It lives as long as they do.
type Env struct {
	Stores    *group.Stores
	Feed      *Feed
	Resources *Resources
	Metrics   *Metrics
	Scheme    *runtime.Scheme

	loopback *restclient.Config
	closers  []func()
	mu       sync.Mutex
}

// NewEnv returns an environment whose clients use a loopback configuration.
func NewEnv(stores *group.Stores, feed *Feed, resources *Resources, metrics *Metrics, scheme *runtime.Scheme, loopback *restclient.Config) *Env {
	return &Env{Stores: stores, Feed: feed, Resources: resources, Metrics: metrics, Scheme: scheme, loopback: loopback}
}

// serviceAccountPrefix is what the users of service accounts of kube-system have.
const serviceAccountPrefix = "system:serviceaccount:" + metav1.NamespaceSystem + ":"

// As returns the configuration of clients that act as a service account of
// kube-system.
func (e *Env) As(serviceAccount string) *restclient.Config {
	return e.AsUser(serviceAccountPrefix + serviceAccount)
}

// AsUser returns the configuration of clients that act as a user.
func (e *Env) AsUser(name string) *restclient.Config {
	c := restclient.CopyConfig(e.loopback)
	c.Impersonate.UserName = name
	c.UserAgent = "kube-controller-manager/" + name
	return c
}

// Reading returns a context in which Stores are read. Objects that nobody can read are
// left out: one of them must not stop what is done for others.
func Reading(ctx context.Context) context.Context {
	return request.WithUser(request.SkippingUnreadable(ctx), &user.Info{Name: user.APIServerUser, Groups: []string{user.SystemPrivileged}})
}

// Recorder returns what creates the events of a controller, as its service account.
func (e *Env) Recorder(component, serviceAccount string) (record.EventRecorder, error) {
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
}

// Close frees what the environment has made.
func (e *Env) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.closers {
		c()
	}
	e.closers = nil
}
