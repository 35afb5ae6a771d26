package admission

import (
	"context"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane/kubeapi/group"
)

// arriving are objects that are not there when they are first asked for.
type arriving struct {
	objects
	asked *atomic.Int32
}

func (a arriving) Get(ctx context.Context, name string, o *metav1.GetOptions) (runtime.Object, error) {
	if a.asked.Add(1) < 5 {
		return objects{}.Get(ctx, name, o)
	}
	return a.objects.Get(ctx, name, o)
}

func TestDefaultAccountIsAwaited(t *testing.T) {
	account := func(name string) runtime.Object {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
	}
	for name, refused := range map[string]bool{"default": false, "other": true} {
		stores := group.NewStores()
		stores.Put(core("serviceaccounts"), arriving{objects{"n/" + name: account(name)}, &atomic.Int32{}})
		c := pluginCase{object: `{spec: {serviceAccountName: ` + name + `}}`}
		err := newServiceAccount(&Dependencies{Stores: stores}).(*serviceAccount).Admit(t.Context(), c.attributes(t))
		if (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
