package discovery

import "k8s.io/apimachinery/pkg/runtime/schema"

// CustomGroupPriority and CustomVersionPriority are the priorities of groups
// that CustomResourceDefinitions define.
const (
	CustomGroupPriority   int32 = 1000
	CustomVersionPriority int32 = 100
)

// groupPriorities order the groups of the server itself, in steps that leave
// room between them.
var groupPriorities = map[string]int32{
	"":                             18000,
	"apiregistration.k8s.io":       18000,
	"apps":                         17800,
	"events.k8s.io":                17750,
	"authentication.k8s.io":        17700,
	"authorization.k8s.io":         17600,
	"autoscaling":                  17500,
	"batch":                        17400,
	"certificates.k8s.io":          17300,
	"networking.k8s.io":            17200,
	"policy":                       17100,
	"rbac.authorization.k8s.io":    17000,
	"storage.k8s.io":               16800,
	"admissionregistration.k8s.io": 16700,
	"apiextensions.k8s.io":         16700,
	"scheduling.k8s.io":            16600,
	"coordination.k8s.io":          16500,
	"node.k8s.io":                  16300,
	"discovery.k8s.io":             16200,
	"resource.k8s.io":              16200,
	"flowcontrol.apiserver.k8s.io": 16100,
	"internal.apiserver.k8s.io":    16000,
	"storagemigration.k8s.io":      15800,
	"lifecycle.k8s.io":             15700,
}

// versionPriorities are those that are not 15.
var versionPriorities = map[schema.GroupVersion]int32{
	{Version: "v1"}: 1,
	{Group: "admissionregistration.k8s.io", Version: "v1beta1"}:  12,
	{Group: "admissionregistration.k8s.io", Version: "v1alpha1"}: 9,
	{Group: "autoscaling", Version: "v2"}:                        30,
	{Group: "certificates.k8s.io", Version: "v1beta1"}:           9,
	{Group: "coordination.k8s.io", Version: "v1beta1"}:           13,
	{Group: "coordination.k8s.io", Version: "v1alpha2"}:          12,
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}:       21,
	{Group: "internal.apiserver.k8s.io", Version: "v1alpha1"}:    9,
	{Group: "lifecycle.k8s.io", Version: "v1alpha1"}:             1,
	{Group: "resource.k8s.io", Version: "v1"}:                    21,
	{Group: "resource.k8s.io", Version: "v1beta1"}:               9,
	{Group: "resource.k8s.io", Version: "v1alpha3"}:              1,
	{Group: "scheduling.k8s.io", Version: "v1beta1"}:             9,
	{Group: "scheduling.k8s.io", Version: "v1alpha3"}:            3,
	{Group: "storagemigration.k8s.io", Version: "v1beta1"}:       9,
}

// DefaultPriority returns the priorities of a built-in group version, which its
// APIService has too, and those of a custom one for all others.
func DefaultPriority(gv schema.GroupVersion) (group, version int32) {
	group, ok := groupPriorities[gv.Group]
	if !ok {
		return CustomGroupPriority, CustomVersionPriority
	}
	if v, ok := versionPriorities[gv]; ok {
		return group, v
	}
	return group, 15
}
