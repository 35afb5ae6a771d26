package schema

import (
	"sort"
	"strconv"
)

// Prune removes from an object what its schema has no place for, but for kind,
// apiVersion and metadata of the object itself and of embedded resources. It
// returns the paths of what it removed, sorted, if asked for them.
func Prune(obj map[string]any, s *Schema, report bool) []string {
	p := pruner{report: report}
	root := Schema{Embedded: true}
	if s != nil {
		root = *s
		root.Embedded = true
	}
	p.value(obj, &root)
	sort.Strings(p.removed)
	return p.removed
}

type pruner struct {
	report  bool
	path    []byte
	removed []string
}

func isMetaField(name string) bool {
	return name == "metadata" || name == "apiVersion" || name == "kind"
}

func (p *pruner) value(v any, s *Schema) {
	switch x := v.(type) {
	case map[string]any:
		p.object(x, s)
	case []any:
		p.array(x, s)
	}
}

func (p *pruner) object(x map[string]any, s *Schema) {
	preserve := s != nil && s.Preserve
	for name, v := range x {
		if s != nil && s.Embedded && isMetaField(name) {
			continue
		}
		mark := p.enter(name)
		var c *Schema
		known := false
		if s != nil {
			c, known = s.child(name)
		}
		switch {
		case known:
			p.value(v, c)
		case !preserve:
			p.record()
			delete(x, name)
		}
		p.leave(mark)
	}
}

func (p *pruner) array(x []any, s *Schema) {
	var items *Schema
	if s != nil {
		items = s.Items
		if items == nil && s.Preserve {
			return
		}
		if s.Preserve && items != nil && !items.Preserve {
			// What is kept as a whole is not pruned by its items' schema either,
			// only by those of the items' named properties.
			kept := *items
			kept.Preserve = true
			items = &kept
		}
	}
	for i, v := range x {
		mark := p.index(i)
		p.value(v, items)
		p.leave(mark)
	}
}

func (p *pruner) enter(name string) int {
	mark := len(p.path)
	if p.report {
		if mark > 0 {
			p.path = append(p.path, '.')
		}
		p.path = append(p.path, name...)
	}
	return mark
}

func (p *pruner) index(i int) int {
	mark := len(p.path)
	if p.report {
		p.path = append(p.path, '[')
		p.path = strconv.AppendInt(p.path, int64(i), 10)
		p.path = append(p.path, ']')
	}
	return mark
}

func (p *pruner) leave(mark int) { p.path = p.path[:mark] }

func (p *pruner) record() {
	if p.report {
		p.removed = append(p.removed, string(p.path))
	}
}
