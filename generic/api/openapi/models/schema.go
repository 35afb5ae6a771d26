package models

import (
	"bytes"

	"triplane.dev/generic/storage/wire"
)

// possibleValues is what generators put behind the description of a field with an
// enumeration, before its values, in JSON.
var possibleValues = []byte(`\n\nPossible enum values:\n`)

// Form is what models look like in a document.
type Form struct {
	// Refs is what references have before the name of a model: "#/definitions/".
	Refs string
	// V2 is the form of OpenAPI v2, whose clients never knew defaults of values. In v3 a
	// reference with other members beside it is wrapped into allOf, as it would hide them.
	V2 bool
}

// AppendModel appends a model in JSON. own reports whether it says other things in v2 than in v3,
// and so of what kind it is: nothing is to be added to it.
func (m *Models) AppendModel(dst []byte, name string, form Form) (_ []byte, own bool) {
	e := m.entries[name]
	f := former{Form: form, noEnums: m.noEnums}
	if form.V2 && e.V2Schema != nil {
		return f.schema(dst, e.V2Schema), true
	}
	return f.schema(dst, e.Schema), false
}

// former brings schemas from the form in which they are stored into that of a document.
type former struct {
	Form
	noEnums bool
}

// schema appends a schema, or true or false.
func (f *former) schema(dst, s []byte) []byte {
	if len(s) == 0 || s[0] != '{' {
		return append(dst, s...)
	}
	o := wire.BeginJSON(dst)
	var ref []byte
	others := false
	for key, value := range wire.JSONMembers(s) {
		if string(key) == "$ref" {
			ref = value
			continue
		}
		others = true
		f.member(&o, key, value)
	}
	if ref != nil {
		f.reference(&o, ref, others)
	}
	return o.End()
}

func (f *former) member(o *wire.JSONObject, key, value []byte) {
	switch string(key) {
	case "default":
		if f.V2 {
			return
		}
	case "enum":
		if f.noEnums {
			return
		}
	case "description":
		if before, _, cut := bytes.Cut(value, possibleValues); cut && f.noEnums {
			o.Key(key)
			o.Dst = append(append(o.Dst, before...), '"')
			return
		}
	case "items", "additionalProperties", "not":
		o.Key(key)
		o.Dst = f.schema(o.Dst, value)
		return
	case "properties":
		o.Key(key)
		o.Dst = f.properties(o.Dst, value)
		return
	case "allOf", "anyOf", "oneOf":
		o.Key(key)
		o.Dst = f.list(o.Dst, value)
		return
	}
	o.Key(key)
	o.Dst = append(o.Dst, value...)
}

// reference appends what is stored as "@" and a name.
func (f *former) reference(o *wire.JSONObject, ref []byte, others bool) {
	wrapped := others && !f.V2
	if wrapped {
		o.Key([]byte("allOf"))
		o.Dst = append(o.Dst, `[{"$ref":"`...)
	} else {
		o.Key([]byte("$ref"))
		o.Dst = append(o.Dst, '"')
	}
	o.Dst = append(append(o.Dst, f.Refs...), ref[len(`"@`):]...)
	if wrapped {
		o.Dst = append(o.Dst, `}]`...)
	}
}

func (f *former) properties(dst, all []byte) []byte {
	o := wire.BeginJSON(dst)
	for key, value := range wire.JSONMembers(all) {
		o.Key(key)
		o.Dst = f.schema(o.Dst, value)
	}
	return o.End()
}

func (f *former) list(dst, all []byte) []byte {
	dst = append(dst, '[')
	start := len(dst)
	for one := range wire.JSONElements(all) {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = f.schema(dst, one)
	}
	return append(dst, ']')
}
