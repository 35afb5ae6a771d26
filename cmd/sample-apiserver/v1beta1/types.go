package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/apiserver"
)

// GroupVersion is the group version of this package.
var GroupVersion = schema.GroupVersion{Group: "wardle.example.com", Version: "v1beta1"}

// ReferenceType is the kind of a reference.
type ReferenceType string

// Values of ReferenceType.
const (
	FlunderReferenceType ReferenceType = "Flunder"
	FischerReferenceType ReferenceType = "Fischer"
)

// Flunder refers to another flunder, or to a fischer.
type Flunder struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FlunderSpec   `json:"spec,omitempty"`
	Status            FlunderStatus `json:"status,omitempty"`
}

// FlunderSpec is the reference of a flunder, with a field for each type.
type FlunderSpec struct {
	FlunderReference string        `json:"flunderReference,omitempty" doc:"A name of another flunder, mutually exclusive to the FischerReference."`
	FischerReference string        `json:"fischerReference,omitempty" doc:"A name of a fischer, mutually exclusive to the FlunderReference."`
	ReferenceType    ReferenceType `json:"referenceType,omitempty" doc:"The reference type."`
}

// FlunderStatus is empty.
type FlunderStatus struct{}

// DeepCopyObject implements runtime.Object.
func (f *Flunder) DeepCopyObject() runtime.Object { return apiserver.DeepCopy(f) }
