package admission

import (
	"context"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/rest"
	"triplane.dev/kubeapi/admission/admissiontest"
	"triplane.dev/kubeapi/group"
)

// arriving returns objects that do not exist at the first read.
func arriving(o admissiontest.Objects) *rest.Resource {
	var asked atomic.Int32
	return &rest.Resource{Get: func(ctx context.Context, r rest.GetRequest) (runtime.Object, error) {
		if asked.Add(1) < 5 {
			return admissiontest.Objects{}.Get(ctx, r)
		}
		return o.Get(ctx, r)
	}}
}

func TestDefaultAccountIsAwaited(t *testing.T) {
	account := func(name string) runtime.Object {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
	}
	for name, refused := range map[string]bool{"default": false, "other": true} {
		stores := group.NewStores()
		stores.Put(core("serviceaccounts"), arriving(admissiontest.Objects{"n/" + name: account(name)}))
		c := pluginCase{object: `{spec: {serviceAccountName: ` + name + `}}`}
		err := newServiceAccount(&Dependencies{Stores: stores}).(*serviceAccount).Admit(t.Context(), c.attributes(t))
		if (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
