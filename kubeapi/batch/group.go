package batch

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/server"
	"triplane/kubeapi/group"
)

var v1 = batchv1.SchemeGroupVersion

func kind(name string) schema.GroupVersionKind { return v1.WithKind(name) }

// Group builds batch/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, batchv1.GroupName, "v1")
	group.Add(b, jobKind())
	group.Add(b, cronJobKind())
	return b.Info()
}
