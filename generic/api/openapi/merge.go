package openapi

import (
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"triplane.dev/generic/api/openapi/models"
	"triplane.dev/generic/storage/wire"
)

// Merge adds a document of another server to one of v2. Models that have the names of others and say
// something else get other names; paths that are there stay.
func (d *Draft) Merge(more *spec.Swagger) error {
	for name, s := range more.Definitions {
		pruneDefaults(&s)
		more.Definitions[name] = s
	}
	if d.merged == nil {
		d.merged = &spec.Swagger{SwaggerProps: spec.SwaggerProps{
			Paths: &spec.Paths{Paths: map[string]spec.PathItem{}}, Definitions: spec.Definitions{},
			Parameters: map[string]spec.Parameter{},
		}}
	}
	if err := d.contested(more); err != nil {
		return err
	}
	return aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(d.merged, more)
}

// contested decodes of this document what another one has by the same names.
func (d *Draft) contested(more *spec.Swagger) error {
	for name := range d.closure {
		public := models.Name(name)
		_, there := d.merged.Definitions[public]
		if _, same := more.Definitions[public]; there || !same {
			continue
		}
		var s spec.Schema
		if err := s.UnmarshalJSON(d.appendModel(nil, name)); err != nil {
			return err
		}
		d.merged.Definitions[public] = s
	}
	for name := range more.Parameters {
		_, there := d.merged.Parameters[name]
		if text, ok := d.shared[name]; ok && !there {
			var p spec.Parameter
			if err := p.UnmarshalJSON(text); err != nil {
				return err
			}
			d.merged.Parameters[name] = p
		}
	}
	if more.Paths == nil {
		return nil
	}
	for path := range more.Paths.Paths {
		if d.pathSeen[path] {
			d.merged.Paths.Paths[path] = spec.PathItem{}
		}
	}
	return nil
}

// writeMerged writes what came of merging, which counts before the models that are still to come.
func (d *Draft) writeMerged() {
	if d.merged == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(d.merged.Definitions)) {
		s := d.merged.Definitions[name]
		if text, err := s.MarshalJSON(); err == nil { // it was decoded
			d.Model(unquoted(name), text)
		}
	}
	for name, p := range d.merged.Parameters {
		if text, err := p.MarshalJSON(); err == nil {
			d.shared[unquoted(name)] = text
		}
	}
	for _, path := range slices.Sorted(maps.Keys(d.merged.Paths.Paths)) {
		item := d.merged.Paths.Paths[path]
		if text, err := item.MarshalJSON(); err == nil && !d.pathSeen[path] {
			d.pathSeen[path] = true
			d.members().Member(unquoted(path), text)
		}
	}
}

// unquoted is a text as it stands between the quotes of JSON.
func unquoted(s string) string {
	quoted := wire.AppendString(nil, s)
	return string(quoted[1 : len(quoted)-1])
}

// pruneDefaults takes the defaults away from a schema and all below it.
func pruneDefaults(s *spec.Schema) {
	if s == nil {
		return
	}
	s.Default = nil
	for _, byName := range []map[string]spec.Schema{s.Properties, s.PatternProperties, s.Definitions} {
		for name, p := range byName {
			pruneDefaults(&p)
			byName[name] = p
		}
	}
	for _, list := range [][]spec.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			pruneDefaults(&list[i])
		}
	}
	pruneDefaults(s.Not)
	if s.Items != nil {
		pruneDefaults(s.Items.Schema)
		for i := range s.Items.Schemas {
			pruneDefaults(&s.Items.Schemas[i])
		}
	}
	if s.AdditionalProperties != nil {
		pruneDefaults(s.AdditionalProperties.Schema)
	}
}
