package customresource

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// finalizerWarnings warns of new finalizers that do not say whose they are.
func finalizerWarnings(_ context.Context, obj, old object) []string {
	var before []string
	if old != nil {
		before = old.GetFinalizers()
	}
	var out []string
	for _, f := range obj.GetFinalizers() {
		if strings.Contains(f, "/") || slices.Contains(before, f) || isStandardFinalizer(f) {
			continue
		}
		better := "a domain-qualified finalizer name"
		if strings.Contains(f, ".") {
			better += " including a path (/)"
		}
		out = append(out, fmt.Sprintf("metadata.finalizers: %q: prefer %s to avoid accidental conflicts with other finalizer writers", f, better))
	}
	return out
}

func isStandardFinalizer(f string) bool {
	return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents || f == "kubernetes"
}
