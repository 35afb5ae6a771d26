package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane/generic/registry"
	"triplane/kubeapi/show"
)

// serviceAccountKind declares service accounts.
func serviceAccountKind() registry.Kind[*corev1.ServiceAccount] {
	return registry.Kind[*corev1.ServiceAccount]{
		Hub: kind("ServiceAccount"), Plural: "serviceaccounts", Singular: "serviceaccount", ShortNames: []string{"sa"}, Namespaced: true,
		New:                 func() *corev1.ServiceAccount { return &corev1.ServiceAccount{} },
		NewList:             func() runtime.Object { return &corev1.ServiceAccountList{} },
		DeleteReturnsObject: true,
		Columns:             []registry.Column{show.Name(), show.Age()},
		Cells: func(s *corev1.ServiceAccount) []any {
			return []any{s.Name, show.Since(s.CreationTimestamp)}
		},
	}
}
