package batch

import (
	batchv1 "k8s.io/api/batch/v1"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/podspec"
)

// Group builds batch/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	pods := podspec.OptionsOf(&d)
	b := group.New(d, batchv1.GroupName, "v1")
	group.Add(b, jobKind(pods))
	group.Add(b, cronJobKind(pods))
	return b.Info()
}
