package registry

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
)

func testScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := clientscheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

func configMapKind() *kind.Kind[*corev1.ConfigMap] {
	return &kind.Kind[*corev1.ConfigMap]{
		Hub: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Namespaced: true,
		New:     func() *corev1.ConfigMap { return &corev1.ConfigMap{} },
		NewList: func() runtime.Object { return &corev1.ConfigMapList{} },
		Names: kind.Names{
			Plural: "configmaps", Singular: "configmap",
			ShortNames: []string{"cm"},
		},
		Write: kind.Write[*corev1.ConfigMap]{
			Validate: func(_ context.Context, c, _ *corev1.ConfigMap) field.ErrorList {
				if c.Data["bad"] != "" {
					return field.ErrorList{field.Invalid(field.NewPath("data", "bad"), c.Data["bad"], "is bad")}
				}
				return nil
			},
			AllowUnconditionalUpdate: kind.Always,
		},
	}
}

func roleKind() *kind.Kind[*rbacv1.Role] {
	return &kind.Kind[*rbacv1.Role]{
		Hub: rbacv1.SchemeGroupVersion.WithKind("Role"), Namespaced: true,
		New:   func() *rbacv1.Role { return &rbacv1.Role{} },
		Names: kind.Names{Plural: "roles", Singular: "role"},
		Write: kind.Write[*rbacv1.Role]{AllowCreateOnUpdate: true},
	}
}

func deploymentKind() *kind.Kind[*appsv1.Deployment] {
	return &kind.Kind[*appsv1.Deployment]{
		Hub: appsv1.SchemeGroupVersion.WithKind("Deployment"), Namespaced: true,
		New:   func() *appsv1.Deployment { return &appsv1.Deployment{} },
		Names: kind.Names{Plural: "deployments", Singular: "deployment"},
		Write: kind.Write[*appsv1.Deployment]{
			AllowUnconditionalUpdate: kind.Always,
			CountsGeneration:         true,
		},
		Status: &kind.Subresource[*appsv1.Deployment]{Preserves: []string{"metadata.labels"}},
		Scale: &kind.ScaleSubresource[*appsv1.Deployment]{
			Get: func(d *appsv1.Deployment) (*kind.Scale, error) {
				return &kind.Scale{Replicas: *d.Spec.Replicas, StatusReplicas: d.Status.Replicas, Selector: "a=b"}, nil
			},
			Set: func(d *appsv1.Deployment, n int32) error { d.Spec.Replicas = &n; return nil },
		},
	}
}

func podKind() *kind.Kind[*corev1.Pod] {
	return &kind.Kind[*corev1.Pod]{
		Hub: corev1.SchemeGroupVersion.WithKind("Pod"), Namespaced: true,
		New:   func() *corev1.Pod { return &corev1.Pod{} },
		Names: kind.Names{Plural: "pods", Singular: "pod"},
		Write: kind.Write[*corev1.Pod]{
			Prepare: kind.AtCreation(func(_ context.Context, p *corev1.Pod) { p.Generation = 1 }),
		},
		Delete: kind.Delete[*corev1.Pod]{
			ReturnsObject: true,
			CheckGraceful: func(_ context.Context, _ *corev1.Pod, o *metav1.DeleteOptions) bool {
				if o.GracePeriodSeconds == nil {
					thirty := int64(30)
					o.GracePeriodSeconds = &thirty
				}
				return true
			},
		},
		Select: kind.Select[*corev1.Pod]{
			Fields: []kind.SelectableField[*corev1.Pod]{{Path: "spec.nodeName", Get: func(p *corev1.Pod) string { return p.Spec.NodeName }}},
		},
	}
}

func namespaceKind() *kind.Kind[*corev1.Namespace] {
	hold := func(n *corev1.Namespace) bool { return len(n.Spec.Finalizers) > 0 }
	return &kind.Kind[*corev1.Namespace]{
		Hub:   corev1.SchemeGroupVersion.WithKind("Namespace"),
		New:   func() *corev1.Namespace { return &corev1.Namespace{} },
		Names: kind.Names{Plural: "namespaces", Singular: "namespace"},
		Write: kind.Write[*corev1.Namespace]{AllowUnconditionalUpdate: kind.Always},
		Delete: kind.Delete[*corev1.Namespace]{
			ReturnsObject: true,
			Hold:          hold,
			Mark: func(_ context.Context, n *corev1.Namespace) bool {
				n.Status.Phase = corev1.NamespaceTerminating
				return true
			},
		},
		Without: []string{"deletecollection"},
		Subresources: map[string]*kind.Subresource[*corev1.Namespace]{"finalize": {
			UpdateOnly: true,
			Preserves:  []string{"status"},
		}},
	}
}

func newStore[T kind.Object](t testing.TB, k *kind.Kind[T]) (*Store[T], *memory) {
	t.Helper()
	m := newMemory()
	s, err := NewStore(k, testScheme(t), m.options())
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

// inNamespace is the context of a request in namespace "ns", and its warnings.
func inNamespace() context.Context {
	return request.WithNamespace(context.Background(), "ns")
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": "v"}}
}

// replaceWith is an update that sends an object whatever the present one is.
func replaceWith(obj runtime.Object) changeFunc {
	return func(context.Context, runtime.Object) (runtime.Object, error) { return obj.DeepCopyObject(), nil }
}

// change is an update that changes the present object.
func change[T kind.Object](f func(T)) changeFunc {
	return func(_ context.Context, old runtime.Object) (runtime.Object, error) {
		obj := old.DeepCopyObject()
		f(obj.(T))
		return obj, nil
	}
}

func must[T kind.Object](t testing.TB, f func() (runtime.Object, error)) T {
	t.Helper()
	obj, err := f()
	if err != nil {
		t.Fatal(err)
	}
	if st, ok := obj.(rest.Stored); ok {
		if obj, err = st.Decode(); err != nil {
			t.Fatal(err)
		}
	}
	return obj.(T)
}
