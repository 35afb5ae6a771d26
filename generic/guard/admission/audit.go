package admission

import (
	"context"
	"strings"
	"triplane.dev/generic/base/request"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
)

// Annotate adds an annotation of a webhook or a similar service to the audit events of a request. The key is
// prefix/name; an annotation whose key is not a qualified name is skipped.
func Annotate(ctx context.Context, prefix, name, value string) {
	key, ok := annotationKey(prefix, name)
	if !ok {
		klog.InfoS("Skipped audit annotation, its key is not a qualified name", "key", key)
		return
	}
	request.Annotate(ctx, key, value)
}

func annotationKey(prefix, name string) (key string, ok bool) {
	key = prefix + "/" + name
	return key, !strings.Contains(name, "/") && len(validation.IsQualifiedName(key)) == 0
}
