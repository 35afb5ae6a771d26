package schema

// root reads the object itself, whose kind, apiVersion and metadata no schema
// prunes.
func (sc *scanner) root(s *Schema) {
	filled := 0
	sc.members(func(key []byte, _ int) {
		start := sc.i
		switch string(key) {
		case "apiVersion":
			sc.meta(s, key, func() { sc.plain() })
			sc.found.APIVersion = Span{start, sc.i}
		case "kind":
			sc.meta(s, key, func() { sc.plain() })
		case "metadata":
			sc.meta(s, key, sc.metadata)
			sc.found.Metadata = Span{start, sc.i}
		default:
			filled += sc.property(s, key, s.Preserve)
			return
		}
		if p := s.Properties[string(key)]; p != nil && p.HasDefault {
			filled++
		}
	})
	sc.complete(s, filled)
}

// meta reads a field that pruning leaves alone. Defaults below it, which few
// schemas have, are for decoders.
func (sc *scanner) meta(s *Schema, key []byte, read func()) {
	if c, _ := s.childOf(key); c != nil && (c.defaults || c.HasDefault) {
		sc.fail()
		return
	}
	read()
}

// plain reads a string without escapes.
func (sc *scanner) plain() Span {
	start := sc.i
	if !sc.text() {
		sc.fail()
	}
	return Span{start, sc.i}
}

// metadata reads the object's own metadata.
func (sc *scanner) metadata() {
	const version = "resourceVersion"
	sc.members(func(key []byte, start int) {
		if sc.found.Version == 0 && string(key) > version {
			sc.found.Version = start
		}
		switch string(key) {
		case "name":
			sc.found.Name = sc.plain()
		case "namespace":
			sc.found.Namespace = sc.plain()
		case "labels":
			start := sc.i
			sc.members(func([]byte, int) { sc.plain() })
			sc.found.Labels = Span{start, sc.i}
		case "generation":
			c := sc.next()
			sc.number()
			sc.generation = c >= '1' && c <= '9'
		case version, "selfLink":
			sc.fail() // what is stored has none
		default:
			sc.any(false)
		}
	})
	if sc.found.Version == 0 && sc.found.Name.End > 0 {
		sc.found.Version, sc.found.VersionLast = sc.i-1, true
	}
}

// value reads a value that a schema describes, nil for one that leaves place for
// nothing. preserve keeps what it does not know.
func (sc *scanner) value(s *Schema, preserve bool) {
	switch sc.next() {
	case '{':
		filled := 0
		sc.members(func(key []byte, _ int) {
			if s != nil && s.Embedded && isMetaField(string(key)) {
				sc.meta(s, key, func() { sc.any(false) })
				if p := s.Properties[string(key)]; p != nil && p.HasDefault {
					filled++
				}
				return
			}
			filled += sc.property(s, key, preserve)
		})
		sc.complete(s, filled)
	case '[':
		if s == nil {
			sc.elements(func() { sc.value(nil, false) })
			return
		}
		if s.Items == nil && preserve {
			sc.elements(func() { sc.any(true) })
			return
		}
		sc.elements(func() { sc.element(s.Items, preserve) })
	default:
		sc.scalar()
	}
}

// element reads an element of an array. A list that is kept as a whole passes
// that on to its items.
func (sc *scanner) element(items *Schema, preserve bool) {
	if sc.next() == 'n' {
		if sc.defaults && items != nil && !items.Nullable && items.HasDefault {
			sc.fail()
		}
		sc.literal("null")
		return
	}
	sc.value(items, preserve || items != nil && items.Preserve)
}

// property reads the value of a property. It returns 1 if that is one of those
// which have defaults.
func (sc *scanner) property(s *Schema, key []byte, preserve bool) int {
	if s == nil {
		sc.fail() // there is no place for it
		return 0
	}
	c, known := s.childOf(key)
	switch {
	case !known && preserve:
		sc.any(true)
		return 0
	case !known:
		sc.fail()
		return 0
	}
	if sc.next() == 'n' {
		if c != nil && !c.Nullable && (!c.HasDefault || sc.defaults) {
			sc.fail() // it would be dropped, or be the default
		}
		sc.literal("null")
	} else {
		sc.value(c, c != nil && c.Preserve)
	}
	if c == nil || !c.HasDefault || s.Properties[string(key)] != c {
		return 0
	}
	return 1
}

// complete fails where a property is missing that has a default.
func (sc *scanner) complete(s *Schema, filled int) {
	if sc.defaults && s != nil && filled < s.defaulted {
		sc.fail()
	}
}

// childOf is child for a key that is still bytes.
func (s *Schema) childOf(key []byte) (c *Schema, known bool) {
	if p, ok := s.Properties[string(key)]; ok {
		return p, true
	}
	return s.Additional, s.AdditionalAllowed
}
