package batch

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/podspec"
)

var v1 = batchv1.SchemeGroupVersion

func gvk(name string) schema.GroupVersionKind { return v1.WithKind(name) }

// Group builds batch/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	pods := podspec.OptionsOf(&d)
	b := group.New(d, batchv1.GroupName, "v1")
	group.Add(b, jobKind(pods))
	group.Add(b, cronJobKind(pods))
	return b.Info()
}
