package openapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"triplane.dev/generic/storage/wire"
)

const (
	intOrString     = "x-kubernetes-int-or-string"
	embedded        = "x-kubernetes-embedded-resource"
	preserveUnknown = "x-kubernetes-preserve-unknown-fields"

	integerOrText = `[{"type":"integer"},{"type":"string"}]`
)

// member is one of a JSON object: its key as it stands between the quotes, and its value.
type member struct{ key, value []byte }

// node is a schema in JSON, whose inner schemas are not looked at.
type node []member

// read returns the members of an object, none of what is no object.
func read(object []byte) node { return appendMembers(nil, object) }

// appendMembers appends the members of an object.
func appendMembers(n node, object []byte) node {
	for key, value := range wire.JSONMembers(object) {
		n = append(n, member{key, value})
	}
	return n
}

func (n node) get(key string) []byte {
	for _, m := range n {
		if string(m.key) == key {
			return m.value
		}
	}
	return nil
}

func (n node) is(key string) bool { return string(n.get(key)) == "true" }

// holds reports whether a schema is of objects or of lists.
func (n node) holds() bool {
	t := string(n.get("type"))
	return t == `"object"` || t == `"array"`
}

// publisher brings the schema of a CRD, in the JSON of storage, into the form that clients read.
//
// OpenAPI v2 knows no logic on values, no null and no unknown fields: what it cannot say is
// left open.
type publisher struct {
	refs string // what stands before the name of a model
	v2   bool
	// open are the members of the schemas that are being written, one inside the other.
	open node
}

// enter reads an object's members, which are good until leave is called with start.
func (p *publisher) enter(object []byte) (n node, start int) {
	start = len(p.open)
	p.open = appendMembers(p.open, object)
	return p.open[start:len(p.open):len(p.open)], start
}

func (p *publisher) leave(start int) { p.open = p.open[:start] }

// meta says which fields of every object a schema has.
type meta struct{ apiVersion, kind string }

var (
	ofObjects  = &meta{apiVersionDoc, kindDoc}
	ofEmbedded = &meta{embeddedAPIVersionDoc, embeddedKindDoc}
)

// root appends the schema of a resource's objects.
func (p *publisher) root(dst, schema []byte) []byte {
	n, start := p.enter(schema)
	defer p.leave(start)
	return p.fields(dst, n, ofObjects, false)
}

// append appends a schema, or true or false.
func (p *publisher) append(dst, schema []byte) []byte {
	if len(schema) == 0 || schema[0] != '{' {
		return append(dst, schema...)
	}
	n, start := p.enter(schema)
	defer p.leave(start)
	var m *meta
	if p.embeds(n) {
		m = ofEmbedded
	}
	return p.fields(dst, n, m, p.v2 && n.is("nullable"))
}

// embeds reports whether a schema is that of an object with the fields that all have.
func (p *publisher) embeds(n node) bool {
	return n.is(embedded) && (!p.v2 || !n.is(preserveUnknown))
}

// fields appends the members of a schema. An opened one says nothing of its type, as it allows
// null; v2 says nothing of that either where an object or a list may hold anything.
func (p *publisher) fields(dst []byte, n node, m *meta, opened bool) []byte {
	o := wire.BeginJSON(dst)
	either := n.is(intOrString)
	closed := p.v2 && n.is(preserveUnknown)
	untyped := opened || closed && n.holds()
	for _, f := range n {
		switch string(f.key) {
		case "$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "properties", "required":
			// No structural schema has the first ones; the last two are below.
		case "type":
			if !untyped {
				o.Key(f.key)
				o.Dst = append(o.Dst, f.value...)
			}
		case "nullable":
			if !opened {
				o.Key(f.key)
				o.Dst = append(o.Dst, f.value...)
			}
		case "items":
			if !opened && !closed && f.value[0] == '{' {
				o.Key(f.key)
				o.Dst = p.append(o.Dst, f.value)
			}
		case "additionalProperties":
			o.Key(f.key)
			o.Dst = p.append(o.Dst, f.value)
		case "default", "not", "allOf", "anyOf", "oneOf":
			p.logic(&o, f, n)
		default:
			o.Key(f.key)
			o.Dst = append(o.Dst, f.value...)
		}
	}
	if either && !p.v2 && n.get("anyOf") == nil && !saysEither(n) {
		o.Member("anyOf", []byte(integerOrText))
	}
	if opened || closed {
		p.properties(&o, nil, m)
	} else {
		p.properties(&o, n, m)
	}
	p.required(&o, n)
	return o.End()
}

// logic appends what v2 has no words for. What is an integer or a text says so, where it does
// not yet.
func (p *publisher) logic(o *wire.JSONObject, f member, n node) {
	switch {
	case p.v2:
	case string(f.key) == "default":
		o.Key(f.key)
		o.Dst = append(o.Dst, f.value...)
	case string(f.key) == "not":
		o.Key(f.key)
		o.Dst = p.append(o.Dst, f.value)
	default:
		hidden := n.is(intOrString) && n.get("anyOf") != nil && !saysEither(n)
		if string(f.key) == "allOf" && hidden {
			return // the other one appends it
		}
		p.list(o, f, nil)
		if string(f.key) == "anyOf" && hidden {
			p.list(o, member{[]byte("allOf"), n.get("allOf")}, []byte(`{"anyOf":`+integerOrText+`}`))
		}
	}
}

// list appends a list of schemas behind the first one, if there is one.
func (p *publisher) list(o *wire.JSONObject, f member, first []byte) {
	o.Key(f.key)
	o.Dst = append(append(o.Dst, '['), first...)
	start := len(o.Dst) - len(first)
	for i := wire.NextJSON(f.value, 1); i < len(f.value); {
		end := wire.SkipJSON(f.value, i)
		if len(o.Dst) > start {
			o.Dst = append(o.Dst, ',')
		}
		o.Dst = p.append(o.Dst, f.value[i:end])
		i = wire.NextJSON(f.value, end)
	}
	o.Dst = append(o.Dst, ']')
}

// saysEither reports whether a schema says itself that it is of an integer or a text.
func saysEither(n node) bool {
	return isEither(n) || isEither(first(n.get("allOf")))
}

func isEither(n node) bool {
	var got, want any
	given := n.get("anyOf")
	return given != nil && json.Unmarshal(given, &got) == nil && json.Unmarshal([]byte(integerOrText), &want) == nil &&
		reflect.DeepEqual(got, want)
}

// first reads the first schema of a list.
func first(list []byte) node {
	if len(list) == 0 {
		return nil
	}
	i := wire.NextJSON(list, 1)
	return read(list[i:wire.SkipJSON(list, i)])
}

func (p *publisher) properties(o *wire.JSONObject, n node, m *meta) {
	given, start := p.enter(n.get("properties"))
	defer p.leave(start)
	if len(given) == 0 && m == nil {
		return
	}
	o.Key([]byte("properties"))
	inner := wire.BeginJSON(o.Dst)
	for _, f := range given {
		switch string(f.key) {
		case "apiVersion", "kind", "metadata":
			if m != nil {
				continue
			}
		}
		inner.Key(f.key)
		inner.Dst = p.append(inner.Dst, f.value)
	}
	if m != nil {
		inner.Member("apiVersion", text(m.apiVersion))
		inner.Member("kind", text(m.kind))
		inner.Key([]byte("metadata"))
		inner.Dst = p.ref(inner.Dst, metaPackage+"ObjectMeta", metadataDoc)
	}
	o.Dst = inner.End()
}

// required appends which fields are. In v2 those are not that may be null.
func (p *publisher) required(o *wire.JSONObject, n node) {
	var optional node
	if all := n.get("properties"); p.v2 && bytes.Contains(all, []byte(`"nullable"`)) {
		optional = read(all)
	}
	more := []string{"kind", "apiVersion"}
	if !p.embeds(n) {
		more = nil
	}
	var names []byte
	given := n.get("required")
	for i := wire.NextJSON(given, 1); i < len(given); {
		end := wire.SkipJSON(given, i)
		name := given[i:end]
		i = wire.NextJSON(given, end)
		if !read(optional.get(string(name[1:max(1, len(name)-1)]))).is("nullable") {
			names = append(append(names, name...), ',')
			more = slices.DeleteFunc(more, func(m string) bool { return string(name) == strconv.Quote(m) })
		}
	}
	for _, m := range more {
		names = append(wire.AppendString(names, m), ',')
	}
	if len(names) > 0 {
		o.Key([]byte("required"))
		o.Dst = append(append(append(o.Dst, '['), names[:len(names)-1]...), ']')
	}
}

// text is the schema of a text with a description.
func text(description string) []byte {
	o := wire.BeginJSON(nil)
	o.Text("type", "string")
	o.Text("description", description)
	return o.End()
}

// ref appends a reference with its own description, which OpenAPI v3 allows only around
// it.
func (p *publisher) ref(dst []byte, model, description string) []byte {
	o := wire.BeginJSON(dst)
	o.Text("description", description)
	if p.v2 {
		o.Text("$ref", p.refs+model)
		return o.End()
	}
	o.Key([]byte("allOf"))
	o.Dst = append(p.plainRef(append(o.Dst, '['), model), ']')
	return o.End()
}

func (p *publisher) plainRef(dst []byte, model string) []byte {
	o := wire.BeginJSON(dst)
	o.Text("$ref", p.refs+model)
	return o.End()
}
