package handlers

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/api/rest"
	"triplane/generic/guard/admission"
)

// VersionsOf are the versions of a storage that knows them, nil of others: those of which
// served is true, all if it is nil.
func VersionsOf(st rest.Storage, served func(schema.GroupVersion) bool) admission.Versions {
	p, ok := st.(multiVersion)
	if !ok || len(p.ServedVersions()) < 2 {
		return nil
	}
	return versions{p, served}
}

type multiVersion interface {
	rest.CodecProvider
	ServedVersions() []schema.GroupVersion
}

type versions struct {
	multiVersion
	served func(schema.GroupVersion) bool
}

// Served implements admission.Versions.
func (v versions) Served() []schema.GroupVersion {
	all := v.ServedVersions()
	if v.served == nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(gv schema.GroupVersion) bool { return !v.served(gv) })
}

// Converter implements admission.Versions.
func (v versions) Converter(gv schema.GroupVersion) (admission.Converter, error) {
	return v.CodecFor(gv)
}
