package workspaces

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/storage/object"
)

// GroupVersion is the API group version of Workspaces.
var GroupVersion = schema.GroupVersion{Group: "workspaces.triplane.dev", Version: "v1alpha1"}

// Plural is the name of the resource.
const Plural = "workspaces"

// Workspace is a separate API server at /workspaces/NAME.
type Workspace struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec,omitempty" doc:"What the workspace is to be."`
	Status Status `json:"status,omitempty" doc:"What the workspace is."`
}

// List is a list of Workspaces.
type List = kind.ListOf[Workspace]

// Spec is the desired state of a Workspace.
type Spec struct {
	Admins    []rbacv1.Subject `json:"admins,omitempty" doc:"Users and groups that may do everything in the workspace."`
	Suspended bool             `json:"suspended,omitempty" doc:"Whether only the server's administrators may read."`
	Quota     *Quota           `json:"quota,omitempty" doc:"Limits of what the workspace stores."`
	Template  *Template        `json:"template,omitempty" doc:"The workspace whose objects a new one begins with."`
	// Initial and Template cannot be changed.
	Initial []runtime.RawExtension `json:"initial,omitempty" doc:"Objects of a new workspace, applied in order."`
}

// Template is a workspace whose objects are copied to a new one.
type Template struct {
	Name string    `json:"name" doc:"The name of the workspace."`
	UID  types.UID `json:"uid,omitempty" doc:"The uid of the workspace at the creation of the copy. The server sets it."`
}

// Quota limits what a workspace stores. Default objects count once they are changed.
type Quota struct {
	Objects *int64             `json:"objects,omitempty" doc:"The number of objects."`
	Bytes   *resource.Quantity `json:"bytes,omitempty" doc:"The bytes of keys and values in storage."`
}

// Status is the observed state of a Workspace.
type Status struct {
	URL        string             `json:"url,omitempty" doc:"The URL for clients."`
	Conditions []metav1.Condition `json:"conditions,omitempty" doc:"Ready, and Emptied while the workspace is deleted."`
}

// Types of conditions.
const (
	// Ready is true when the workspace serves requests.
	Ready = "Ready"
	// Emptied is false while the objects of a deleted workspace are deleted.
	Emptied = "Emptied"
)

// DeepCopyObject implements runtime.Object.
func (w *Workspace) DeepCopyObject() runtime.Object { return object.DeepCopy(w) }

// Contents is the finalizer that keeps a deleted Workspace until its keys are deleted.
const Contents = "workspaces.triplane.dev/contents"

// directory is the path below the server's prefix that has the keys of all workspaces.
const directory = ".workspaces"

// Path returns the path of the keys of a workspace below the server's prefix. The UID separates it from earlier
// workspaces of the name, whose keys a replica may still write.
func Path(name string, uid types.UID) string { return directory + "/" + name + "." + string(uid) }

// URLPath returns the path of a workspace in URLs.
func URLPath(name string) string { return urlPrefix + name }

const urlPrefix = "/workspaces/"
