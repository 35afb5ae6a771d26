package audit

import (
	"bytes"
	"slices"
)

// dropManagedFields returns a JSON document without the metadata.managedFields of its objects: the document
// itself, the items of a list, and the objects in the rows of a table. All other bytes stay the same. A
// document without managed fields, or that cannot be parsed, is returned unchanged. doc is not modified.
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

// place is the position of a value in the document.
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

// member returns the place of an object's member, for an object at p.
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

// element returns the place of an array's element, for an array at p.
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

// maxDepth limits the recursion into a document.
const maxDepth = 1000

// fieldScanner finds the managed fields in valid JSON.
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

// take skips c if it is the next byte, and reports whether it is.
func (s *fieldScanner) take(c byte) bool {
	s.space()
	if s.at < len(s.doc) && s.doc[s.at] == c {
		s.at++
		return true
	}
	return false
}

// value skips a value. It returns false if it cannot parse it.
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

// text skips a string and returns it with its quotes.
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

// members skips the members of an object. It cuts those at atManagedFields, each with one of the commas around
// it.
func (s *fieldScanner) members(p place) bool {
	if s.take('}') {
		return true
	}
	// begin is the end of the last member that stays; mark is the number of cuts before it.
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
