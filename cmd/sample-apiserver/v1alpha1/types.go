package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/apiserver"
)

// GroupVersion is this version.
var GroupVersion = schema.GroupVersion{Group: "wardle.example.com", Version: "v1alpha1"}

// ReferenceType says what a reference names.
type ReferenceType string

// The types of references.
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

// FlunderSpec is what a flunder refers to.
type FlunderSpec struct {
	Reference     string         `json:"reference,omitempty" doc:"A name of another flunder or fischer, depending on the reference type."`
	ReferenceType *ReferenceType `json:"referenceType,omitempty" doc:"The reference type, defaults to \"Flunder\" if reference is set."`
}

// FlunderStatus is empty.
type FlunderStatus struct{}

// Fischer is cluster-scoped. It says which names flunders may not have.
type Fischer struct {
	metav1.TypeMeta    `json:",inline"`
	metav1.ObjectMeta  `json:"metadata,omitempty"`
	DisallowedFlunders []string `json:"disallowedFlunders,omitempty" listType:"atomic" doc:"The names that flunders may not have."`
}

// DeepCopyObject implements runtime.Object.
func (f *Flunder) DeepCopyObject() runtime.Object { return apiserver.DeepCopy(f) }

// DeepCopyObject implements runtime.Object.
func (f *Fischer) DeepCopyObject() runtime.Object { return apiserver.DeepCopy(f) }

// APILifecycleDeprecated has clients warned who use the version.
func (f *Flunder) APILifecycleDeprecated() (major, minor int) { return 1, 3 }

// APILifecycleRemoved is when the version goes.
func (f *Flunder) APILifecycleRemoved() (major, minor int) { return 1, 10 }

// APILifecycleDeprecated has clients warned who use the version.
func (f *Fischer) APILifecycleDeprecated() (major, minor int) { return 1, 3 }

// APILifecycleRemoved is when the version goes.
func (f *Fischer) APILifecycleRemoved() (major, minor int) { return 1, 10 }
