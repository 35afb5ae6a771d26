package schema

import (
	"bytes"
	"time"
)

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
		start = sc.i
		sc.metadataField(key)
		switch string(key) {
		case "name":
			sc.found.Name = Span{start, sc.i}
		case "namespace":
			sc.found.Namespace = Span{start, sc.i}
		case "uid":
			sc.found.UID = Span{start, sc.i}
		case "labels":
			sc.found.Labels = Span{start, sc.i}
		case "generation":
			sc.generation = !sc.failed
		case version:
			sc.fail() // what is stored has none
		}
	})
	if sc.found.Version == 0 && sc.found.Name.End > 0 {
		sc.found.Version, sc.found.VersionLast = sc.i-1, true
	}
}

// embedded reads the apiVersion, kind or metadata of an embedded resource.
func (sc *scanner) embedded(key []byte) {
	if string(key) != "metadata" {
		sc.plain()
		return
	}
	sc.members(func(key []byte, _ int) { sc.metadataField(key) })
}

// metadataField reads a field of ObjectMeta that would come back from it as it is.
func (sc *scanner) metadataField(key []byte) {
	switch string(key) {
	case "name", "namespace", "generateName", "uid", "resourceVersion":
		sc.nonEmpty()
	case "creationTimestamp", "deletionTimestamp":
		sc.time()
	case "generation":
		if c := sc.next(); c < '1' || c > '9' {
			sc.fail()
		}
		sc.whole()
	case "deletionGracePeriodSeconds":
		sc.whole()
	case "labels":
		sc.filled(func([]byte) { sc.plain() })
	case "annotations":
		sc.filled(func([]byte) { sc.text() })
	case "finalizers":
		sc.some(func() { sc.nonEmpty() })
	case "ownerReferences":
		sc.some(sc.owner)
	case "managedFields":
		sc.some(func() { sc.filled(sc.managedField) })
	default:
		sc.fail()
	}
}

func (sc *scanner) owner() {
	always := 0 // fields that are never left out
	sc.filled(func(key []byte) {
		switch string(key) {
		case "apiVersion", "kind", "name", "uid":
			always++
			sc.nonEmpty()
		case "controller", "blockOwnerDeletion":
			if c := sc.next(); c != 't' && c != 'f' {
				sc.fail()
			}
			sc.scalar()
		default:
			sc.fail()
		}
	})
	if always != 4 {
		sc.fail()
	}
}

func (sc *scanner) managedField(key []byte) {
	switch string(key) {
	case "manager", "operation", "apiVersion", "fieldsType", "subresource":
		sc.nonEmpty()
	case "time":
		sc.time()
	case "fieldsV1":
		if sc.next() != '{' {
			sc.fail()
		}
		sc.any(true)
	default:
		sc.fail()
	}
}

// filled reads an object that is not empty; some does so for an array.
func (sc *scanner) filled(f func(key []byte)) {
	n := 0
	sc.members(func(key []byte, _ int) { n++; f(key) })
	if n == 0 {
		sc.fail()
	}
}

func (sc *scanner) some(f func()) {
	n := 0
	sc.elements(func() { n++; f() })
	if n == 0 {
		sc.fail()
	}
}

func (sc *scanner) nonEmpty() {
	if s := sc.plain(); s.End-s.Start <= len(`""`) {
		sc.fail()
	}
}

// whole reads an integer.
func (sc *scanner) whole() {
	start := sc.i
	sc.number()
	if sc.i == start || sc.i-start > safeDigits || bytes.ContainsAny(sc.b[start:sc.i], ".eE") {
		sc.fail()
	}
}

// time reads a time in the form in which the API writes it. Days that not all
// months have are for decoders.
func (sc *scanner) time() {
	const form = `"0000-00-00T00:00:00Z"`
	s := sc.plain()
	text := sc.b[s.Start:s.End]
	if len(text) != len(form) {
		sc.fail()
		return
	}
	for i := range form {
		if digit := text[i] >= '0' && text[i] <= '9'; form[i] == '0' && !digit || form[i] != '0' && text[i] != form[i] {
			sc.fail()
			return
		}
	}
	two := func(i int) byte { return 10*(text[i]-'0') + text[i+1] - '0' }
	month, day := two(6), two(9)
	if month < 1 || month > 12 || day < 1 || day > 28 || two(12) > 23 || two(15) > 59 || two(18) > 59 ||
		string(text[1:5]) == "0001" {
		date, err := time.Parse(time.RFC3339, string(text[1:len(text)-1]))
		if err != nil || date.IsZero() {
			sc.fail()
		}
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
				sc.meta(s, key, func() { sc.embedded(key) })
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
