package handlers

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/admission"
	"triplane/generic/registry/rest"
)

// VersionsOf are the versions of a storage that knows them, nil of others.
func VersionsOf(st rest.Storage) admission.Versions {
	p, ok := st.(multiVersion)
	if !ok || len(p.ServedVersions()) < 2 {
		return nil
	}
	return versions{p}
}

type multiVersion interface {
	rest.CodecProvider
	ServedVersions() []schema.GroupVersion
}

type versions struct{ multiVersion }

// Served implements admission.Versions.
func (v versions) Served() []schema.GroupVersion { return v.ServedVersions() }

// Converter implements admission.Versions.
func (v versions) Converter(gv schema.GroupVersion) (admission.Converter, error) {
	return v.CodecFor(gv)
}
