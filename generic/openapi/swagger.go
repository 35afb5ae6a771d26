package openapi

import (
	"encoding/json"
	"reflect"
	"sync"
	"time"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"triplane/generic/wire"
)

// retryAfter is how long a document is kept that lacks the part of a source
// which failed.
const retryAfter = time.Minute

// swagger is the one document of /openapi/v2, kept until something changes. Its
// lock is held while it is built.
type swagger struct {
	mu      sync.Mutex
	doc     *document
	changes uint64    // of the service, when it was built
	until   time.Time // zero for no end
}

// documentV2 returns the one document of /openapi/v2.
func (s *Service) documentV2() (*document, error) {
	v2 := &s.v2
	v2.mu.Lock()
	defer v2.mu.Unlock()
	s.mu.Lock()
	changes, services := s.changes, s.webServices()
	s.mu.Unlock()
	if v2.doc != nil && v2.changes == changes && (v2.until.IsZero() || time.Now().Before(v2.until)) {
		return v2.doc, nil
	}
	doc, complete, err := s.buildV2(services)
	if err != nil {
		return nil, err
	}
	d, err := newDocument(doc, "")
	if err != nil {
		return nil, err
	}
	v2.doc, v2.changes, v2.until = d, changes, time.Time{}
	if !complete {
		v2.until = time.Now().Add(retryAfter)
	}
	return d, nil
}

// buildV2 joins what the routes and the sources say. One bad source must not
// take away everybody's document; complete reports whether there was one.
func (s *Service) buildV2(services []*restful.WebService) (_ json.RawMessage, complete bool, _ error) {
	doc, err := s.builder.V2(services)
	if err != nil {
		return nil, false, err
	}
	shared := sharedParameters(doc)
	complete = true
	var paths, models []Member
	for _, e := range s.entries() {
		if e.source == nil {
			continue
		}
		more, err := e.source.V2(shared)
		if err == nil && more != nil {
			paths, models = append(paths, more.Paths...), append(models, more.Models...)
			if more.Document != nil {
				shareParameters(more.Document, shared)
				err = merge(doc, more.Document)
			}
		}
		if err != nil {
			klog.ErrorS(err, "A part of the OpenAPI v2 document is missing", "path", e.path)
			complete = false
		}
	}
	// Clients of this version never knew defaults, and old ones stumble on them.
	for name, d := range doc.Definitions {
		pruneDefaults(&d)
		doc.Definitions[name] = d
	}
	data, err := doc.MarshalJSON()
	return addMembers(data, map[string][]Member{"paths": paths, "definitions": models}), complete, err
}

// addMembers adds members to objects of a document, those with names that they do not have.
func addMembers(doc []byte, all map[string][]Member) []byte {
	size := len(doc)
	for _, members := range all {
		for _, m := range members {
			size += len(m.Name) + len(m.JSON) + len(`"":,`)
		}
	}
	out := make([]byte, 0, size)
	from := 0
	for i := wire.NextJSON(doc, 1); i < len(doc); {
		key, value, end, ok := wire.JSONMember(doc, i)
		if !ok {
			break
		}
		if members := all[string(key)]; len(members) > 0 {
			out = appendMembers(append(out, doc[from:end-1]...), value, members)
			from = end - 1
		}
		i = wire.NextJSON(doc, end)
	}
	return append(out, doc[from:]...)
}

// appendMembers appends members behind those of an object.
func appendMembers(out, object []byte, members []Member) []byte {
	known := map[string]bool{}
	for i := wire.NextJSON(object, 1); i < len(object); {
		key, _, end, ok := wire.JSONMember(object, i)
		if !ok {
			break
		}
		known[string(key)] = true
		i = wire.NextJSON(object, end)
	}
	for _, m := range members {
		if known[m.Name] {
			continue
		}
		if len(known) > 0 {
			out = append(out, ',')
		}
		known[m.Name] = true
		out = append(append(append(append(out, '"'), m.Name...), `":`...), m.JSON...)
	}
	return out
}

// sharedParameters returns a function that has operations refer to the parameters of doc,
// where they take the same. With thousands of custom resources that is a quarter of the
// document.
func sharedParameters(doc *spec.Swagger) func(spec.Parameter) spec.Parameter {
	byName := make(map[string][]string, len(doc.Parameters))
	for key, p := range doc.Parameters {
		byName[p.Name] = append(byName[p.Name], key)
	}
	return func(p spec.Parameter) spec.Parameter {
		for _, key := range byName[p.Name] {
			if reflect.DeepEqual(doc.Parameters[key], p) {
				return spec.Parameter{Refable: spec.Refable{Ref: spec.MustCreateRef("#/parameters/" + key)}}
			}
		}
		return p
	}
}

// shareParameters has the operations of a document refer to shared parameters.
func shareParameters(doc *spec.Swagger, shared func(spec.Parameter) spec.Parameter) {
	if doc.Paths == nil {
		return
	}
	share := func(list []spec.Parameter) {
		for i := range list {
			list[i] = shared(list[i])
		}
	}
	for _, item := range doc.Paths.Paths {
		share(item.Parameters)
		for _, op := range []*spec.Operation{item.Get, item.Put, item.Post, item.Delete, item.Options, item.Head, item.Patch} {
			if op != nil {
				share(op.Parameters)
			}
		}
	}
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

// merge adds a document to another. What only differs in name from all that is
// there costs no look at the whole.
func merge(into, more *spec.Swagger) error {
	if conflict(into, more) {
		return aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(into, more)
	}
	if into.Definitions == nil {
		into.Definitions = spec.Definitions{}
	}
	for name, d := range more.Definitions {
		into.Definitions[name] = d
	}
	if more.Paths == nil {
		return nil
	}
	if into.Paths == nil {
		into.Paths = &spec.Paths{}
	}
	if into.Paths.Paths == nil {
		into.Paths.Paths = map[string]spec.PathItem{}
	}
	for path, item := range more.Paths.Paths {
		into.Paths.Paths[path] = item
	}
	return nil
}

// conflict reports whether both documents have a name.
func conflict(into, more *spec.Swagger) bool {
	for name := range more.Definitions {
		if _, ok := into.Definitions[name]; ok {
			return true
		}
	}
	if more.Paths != nil && into.Paths != nil {
		for path := range more.Paths.Paths {
			if _, ok := into.Paths.Paths[path]; ok {
				return true
			}
		}
	}
	return len(more.Parameters) > 0 || len(more.Responses) > 0
}
