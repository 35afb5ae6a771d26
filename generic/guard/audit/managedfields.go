package audit

import (
	"bytes"
	"slices"
)

// dropManagedFields returns a JSON document without the managed fields of the
// objects in it: its own, those of the items of a list and those of the objects
// in the rows of a table. Everything else stays as it is written. A document
// without any, or that is not understood, is returned itself; no byte of doc is
// changed.
func dropManagedFields(doc []byte) []byte {
	if !bytes.Contains(doc, managedFieldsKey) {
		return doc
	}
	s := fieldScanner{doc: doc}
	if !s.value(atObject) {
		return doc
	}
	if len(s.cuts) == 0 {
		return doc
	}
	out := make([]byte, 0, len(doc))
	from := 0
	for _, c := range s.cuts {
		out = append(out, doc[from:c.from]...)
		from = c.to
	}
	return append(out, doc[from:]...)
}

var managedFieldsKey = []byte(`"managedFields"`)

// place is where in a document a value stands, as far as it matters.
type place int

const (
	elsewhere place = iota
	atObject        // an object, list or table
	atItems         // the items of a list
	atRows          // the rows of a table
	atRow
	atMetadata
	atManagedFields
)

// member is the place of a member of a value at p.
func (p place) member(key []byte) place {
	switch {
	case p == atObject && bytes.Equal(key, []byte(`"metadata"`)):
		return atMetadata
	case p == atObject && bytes.Equal(key, []byte(`"items"`)):
		return atItems
	case p == atObject && bytes.Equal(key, []byte(`"rows"`)):
		return atRows
	case p == atRow && bytes.Equal(key, []byte(`"object"`)):
		return atObject
	case p == atMetadata && bytes.Equal(key, managedFieldsKey):
		return atManagedFields
	}
	return elsewhere
}

// element is the place of an element of an array at p.
func (p place) element() place {
	switch p {
	case atItems:
		return atObject
	case atRows:
		return atRow
	}
	return elsewhere
}

type cut struct{ from, to int }

// maxDepth bounds the recursion into a document.
const maxDepth = 1000

// fieldScanner finds what to cut out of valid JSON.
type fieldScanner struct {
	doc   []byte
	at    int
	depth int
	cuts  []cut
}

func (s *fieldScanner) space() {
	for s.at < len(s.doc) && s.doc[s.at] <= ' ' {
		s.at++
	}
}

// take passes a byte if it is the next one.
func (s *fieldScanner) take(c byte) bool {
	s.space()
	if s.at < len(s.doc) && s.doc[s.at] == c {
		s.at++
		return true
	}
	return false
}

// value passes a value; false means that it is not understood.
func (s *fieldScanner) value(p place) bool {
	s.depth++
	defer func() { s.depth-- }()
	s.space()
	switch {
	case s.at >= len(s.doc) || s.depth > maxDepth:
		return false
	case s.doc[s.at] == '"':
		return s.text() != nil
	case s.take('{'):
		return s.members(p)
	case s.take('['):
		return s.elements(p)
	}
	for s.at < len(s.doc) && !slices.Contains([]byte(",]} \t\r\n"), s.doc[s.at]) {
		s.at++
	}
	return true
}

// text passes a string and returns it with its quotes.
func (s *fieldScanner) text() []byte {
	from := s.at
	for s.at++; s.at < len(s.doc); s.at++ {
		switch s.doc[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return s.doc[from:s.at]
		}
	}
	return nil
}

func (s *fieldScanner) elements(p place) bool {
	if s.take(']') {
		return true
	}
	for {
		if !s.value(p.element()) {
			return false
		}
		if !s.take(',') {
			return s.take(']')
		}
	}
}

// members passes the members of an object and cuts those at atManagedFields out,
// with one of the commas around each.
func (s *fieldScanner) members(p place) bool {
	if s.take('}') {
		return true
	}
	// Where the last member that stays ends, and what was cut out up to there.
	begin, mark := s.at, len(s.cuts)
	for {
		s.space()
		from := s.at
		if s.at >= len(s.doc) || s.doc[s.at] != '"' {
			return false
		}
		place := p.member(s.text())
		if !s.take(':') || !s.value(place) {
			return false
		}
		to := s.at
		more := s.take(',')
		switch {
		case place != atManagedFields:
			begin, mark = to, len(s.cuts)
		case more:
			s.cuts = append(s.cuts, cut{from, s.at})
		default:
			s.cuts = append(s.cuts[:mark], cut{begin, to})
		}
		if !more {
			return s.take('}')
		}
	}
}
