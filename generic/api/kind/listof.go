package kind

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/util"

	"triplane.dev/generic/storage/object"
)

// ListOf is the list type of a kind whose objects are of the Go type T, for kinds that have not declared one.
type ListOf[T any] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []T `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *ListOf[T]) DeepCopyObject() runtime.Object { return object.DeepCopy(l) }

// OpenAPIModelName is the name of the items' model, with List behind it.
func (ListOf[T]) OpenAPIModelName() string { return util.GetCanonicalTypeName(new(T)) + "List" }
