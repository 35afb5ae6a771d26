package handlers

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/guard/admission"
)

// VersionsOf are the versions of a resource that has several, nil of others: those of which
// served is true, all if it is nil.
func VersionsOf(r *rest.Resource, served func(schema.GroupVersion) bool) admission.Versions {
	if len(r.Versions) < 2 {
		return nil
	}
	return versions{r, served}
}

type versions struct {
	of     *rest.Resource
	served func(schema.GroupVersion) bool
}

// Served implements admission.Versions.
func (v versions) Served() []schema.GroupVersion {
	all := slices.Clone(v.of.Versions)
	if v.served == nil {
		return all
	}
	return slices.DeleteFunc(all, func(gv schema.GroupVersion) bool { return !v.served(gv) })
}

// Converter implements admission.Versions.
func (v versions) Converter(gv schema.GroupVersion) (admission.Converter, error) {
	return v.of.Codec(gv)
}
