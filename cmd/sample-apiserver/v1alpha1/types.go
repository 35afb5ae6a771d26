package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/apiserver"
)

// GroupVersion is the group version of this package.
var GroupVersion = schema.GroupVersion{Group: "wardle.example.com", Version: "v1alpha1"}

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

// FlunderSpec is the reference of a flunder.
type FlunderSpec struct {
	Reference     string         `json:"reference,omitempty" doc:"A name of another flunder or fischer, depending on the reference type."`
	ReferenceType *ReferenceType `json:"referenceType,omitempty" doc:"The reference type, defaults to \"Flunder\" if reference is set."`
}

// FlunderStatus is empty.
type FlunderStatus struct{}

// Fischer is a cluster-scoped kind that disallows names of flunders.
type Fischer struct {
	metav1.TypeMeta    `json:",inline"`
	metav1.ObjectMeta  `json:"metadata,omitempty"`
	DisallowedFlunders []string `json:"disallowedFlunders,omitempty" listType:"atomic" doc:"The names that flunders may not have."`
}

// DeepCopyObject implements runtime.Object.
func (f *Flunder) DeepCopyObject() runtime.Object { return apiserver.DeepCopy(f) }

// DeepCopyObject implements runtime.Object.
func (f *Fischer) DeepCopyObject() runtime.Object { return apiserver.DeepCopy(f) }

// APILifecycleDeprecated makes the server send a deprecation warning.
func (f *Flunder) APILifecycleDeprecated() (major, minor int) { return 1, 3 }

// APILifecycleRemoved returns the release that removes the version.
func (f *Flunder) APILifecycleRemoved() (major, minor int) { return 1, 10 }

// APILifecycleDeprecated makes the server send a deprecation warning.
func (f *Fischer) APILifecycleDeprecated() (major, minor int) { return 1, 3 }

// APILifecycleRemoved returns the release that removes the version.
func (f *Fischer) APILifecycleRemoved() (major, minor int) { return 1, 10 }
