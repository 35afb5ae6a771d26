package testserver_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"triplane.dev/testserver"
)

// A test with client-go: only members of a group may read secrets.
func TestClientGo(t *testing.T) {
	t.Parallel()
	srv := testserver.Start(t)
	admin := kubernetes.NewForConfigOrDie(srv.Config())
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "token"}, StringData: map[string]string{"value": "42"}}
	if _, err := admin.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	stranger := kubernetes.NewForConfigOrDie(srv.AddUser("stranger").Config())
	if _, err := stranger.CoreV1().Secrets("default").Get(t.Context(), "token", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a stranger reads the secret: %v", err)
	}
	member := kubernetes.NewForConfigOrDie(srv.AddUser("member", "system:masters").Config())
	if _, err := member.CoreV1().Secrets("default").Get(t.Context(), "token", metav1.GetOptions{}); err != nil {
		t.Errorf("a member of the group: %v", err)
	}
}

// greeter is a controller: it adds a greeting to config maps.
type greeter struct{ client.Client }

func (g greeter) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var cm corev1.ConfigMap
	if err := g.Get(ctx, req.NamespacedName, &cm); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if cm.Data["greeting"] != "" {
		return reconcile.Result{}, nil
	}
	before := cm.DeepCopy()
	cm.Data = map[string]string{"greeting": "hello, " + cm.Name}
	return reconcile.Result{}, g.Patch(ctx, &cm, client.MergeFrom(before))
}

// A test of a controller, in a manager of controller-runtime.
func TestControllerRuntime(t *testing.T) {
	t.Parallel()
	srv := testserver.Start(t)
	unnamed := true // the same controller may run in another manager of the process
	mgr, err := ctrl.NewManager(srv.Config(), ctrl.Options{
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &unnamed},
		Logger:     klog.Background(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Complete(greeter{mgr.GetClient()}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	if !mgr.GetCache().WaitForCacheSync(ctx) { // the client reads from it
		t.Fatal("the manager does not begin")
	}
	c := mgr.GetClient()
	if err := c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "world"}}); err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		var cm corev1.ConfigMap
		err := c.Get(ctx, types.NamespacedName{Namespace: "default", Name: "world"}, &cm)
		return cm.Data["greeting"] == "hello, world", client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Error(err)
	}
}
