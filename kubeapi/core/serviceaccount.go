package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
)

// enforceMountable holds an account's pods to the secrets that it names.
const enforceMountable = "kubernetes.io/enforce-mountable-secrets"

func enforcesMountable(s *corev1.ServiceAccount) bool {
	_, ok := s.Annotations[enforceMountable]
	return ok
}

// bareSecretNames leaves of an account's secrets what counts, their names.
func bareSecretNames(_ context.Context, s, _ *corev1.ServiceAccount) {
	for i := range s.Secrets {
		s.Secrets[i] = corev1.ObjectReference{Name: s.Secrets[i].Name}
	}
}

// serviceAccountKind declares service accounts.
func serviceAccountKind() kind.Kind[*corev1.ServiceAccount] {
	return kind.Kind[*corev1.ServiceAccount]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"sa"}},
		Write: kind.Write[*corev1.ServiceAccount]{
			Prepare:                  bareSecretNames,
			AllowUnconditionalUpdate: kind.Always,
			Warnings: func(_ context.Context, s, old *corev1.ServiceAccount) []string {
				if enforcesMountable(s) && (old == nil || !enforcesMountable(old)) {
					return []string{"metadata.annotations[" + enforceMountable +
						"]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"}
				}
				return nil
			},
		},
		Delete:  kind.Delete[*corev1.ServiceAccount]{ReturnsObject: true},
		Columns: show.Columns(),
	}
}
