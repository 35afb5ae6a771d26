package endpoints

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	baseversion "k8s.io/component-base/version"
)

// release returns the minor version of Kubernetes 1 whose API is served: that of the libraries.
func release() int {
	return int(version.MustParse(baseversion.DefaultKubeBinaryVersion).Minor())
}

// deprecation is the warning that clients of a version get that is about to go, as
// the Go type of its objects has it; "" is none.
func deprecation(scheme *runtime.Scheme, kind schema.GroupVersionKind) string {
	if scheme == nil {
		return ""
	}
	obj, err := scheme.New(kind)
	if err != nil {
		return ""
	}
	deprecated, ok := obj.(interface {
		APILifecycleDeprecated() (major, minor int)
	})
	if !ok {
		return ""
	}
	major, minor := deprecated.APILifecycleDeprecated()
	if major > 1 || minor > release() {
		return ""
	}
	text := fmt.Sprintf("%s %s is deprecated in v%d.%d+", kind.GroupVersion(), kind.Kind, major, minor)
	if removed, ok := obj.(interface {
		APILifecycleRemoved() (major, minor int)
	}); ok {
		major, minor = removed.APILifecycleRemoved()
		text += fmt.Sprintf(", unavailable in v%d.%d+", major, minor)
	}
	if replaced, ok := obj.(interface {
		APILifecycleReplacement() schema.GroupVersionKind
	}); ok {
		by := replaced.APILifecycleReplacement()
		text += fmt.Sprintf("; use %s %s", by.GroupVersion(), by.Kind)
	}
	return text
}
