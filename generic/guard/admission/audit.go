package admission

import (
	"context"
	"strings"
	"triplane/generic/base/request"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
)

// Annotate adds what a remote service says of a request to its audit events, below a prefix. A
// name that makes no qualified name with the prefix is left out.
func Annotate(ctx context.Context, prefix, name, value string) {
	key, ok := annotationKey(prefix, name)
	if !ok {
		klog.InfoS("An audit annotation is not set: its key is no qualified name", "key", key)
		return
	}
	request.Annotate(ctx, key, value)
}

func annotationKey(prefix, name string) (key string, ok bool) {
	key = prefix + "/" + name
	return key, !strings.Contains(name, "/") && len(validation.IsQualifiedName(key)) == 0
}
