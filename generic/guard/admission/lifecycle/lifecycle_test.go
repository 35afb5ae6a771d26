package lifecycle

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/guard/admission"
)

func TestOperationsInNamespaces(t *testing.T) {
	plugin := New(func(_ context.Context, name string) (*corev1.Namespace, error) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		switch name {
		case "gone":
			return nil, apierrors.NewNotFound(corev1.Resource("namespaces"), name)
		case "terminating":
			ns.Status.Phase = corev1.NamespaceTerminating
		}
		return ns, nil
	})
	for _, c := range []struct {
		op        admission.Operation
		resource  string
		namespace string
		code      int32
	}{
		{admission.Create, "pods", "there", 0}, {admission.Create, "pods", "gone", 404},
		{admission.Create, "pods", "terminating", 403}, {admission.Update, "pods", "gone", 0},
		{admission.Update, "pods", "terminating", 0}, {admission.Delete, "pods", "gone", 0},
		{admission.Create, "localsubjectaccessreviews", "gone", 0}, {admission.Delete, "namespaces", "kube-system", 403},
		{admission.Delete, "namespaces", "there", 0}, {admission.Connect, "pods", "gone", 0},
	} {
		gvr := corev1.SchemeGroupVersion.WithResource(c.resource)
		if c.resource == "localsubjectaccessreviews" {
			gvr.Group = "authorization.k8s.io"
		}
		a := &admission.Attributes{Operation: c.op, Resource: gvr, Namespace: c.namespace, Name: c.namespace}
		var err error
		if plugin.Handles(c.op) {
			err = plugin.Admit(t.Context(), a)
		}
		var code int32
		if status, ok := err.(apierrors.APIStatus); ok {
			code = status.Status().Code
		}
		if code != c.code {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
