package flowcontrol

import (
	"fmt"

	flowv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/group"
)

var v1 = flowv1.SchemeGroupVersion

// Names of the mandatory objects.
const (
	exempt   = "exempt"
	catchAll = "catch-all"
)

// Group builds flowcontrol.apiserver.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, flowv1.GroupName, "v1")
	group.Add(b, flowSchemaKind())
	group.Add(b, priorityLevelKind())
	return b.Info()
}

func mustEqual(name string, spec, want any) field.ErrorList {
	if !check.Differs(spec, want) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec"), spec,
		fmt.Sprintf("spec of '%s' must equal the fixed value", name))}
}
