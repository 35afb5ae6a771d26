package openapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"triplane/generic/openapi"
	"triplane/generic/wire"
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
	if len(object) == 0 || object[0] != '{' {
		return n
	}
	for i := wire.NextJSON(object, 1); i < len(object); {
		key, value, end, ok := wire.JSONMember(object, i)
		if !ok {
			break
		}
		n = append(n, member{key, value})
		i = wire.NextJSON(object, end)
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

// object appends JSON objects, a member at a time.
type object struct {
	dst   []byte
	empty bool
}

func begin(dst []byte) object { return object{append(dst, '{'), true} }

// key appends what stands before a member's value.
func (o *object) key(name []byte) {
	if !o.empty {
		o.dst = append(o.dst, ',')
	}
	o.empty = false
	o.dst = append(append(append(o.dst, '"'), name...), `":`...)
}

// member appends a member whose value is JSON.
func (o *object) member(name string, value []byte) {
	o.raw(member{[]byte(name), value})
}

// members appends an object of members.
func (o *object) members(all []openapi.Member) {
	inner := begin(o.dst)
	for i := range all {
		inner.member(all[i].Name, all[i].JSON)
	}
	o.dst = inner.end()
}

func (o *object) raw(m member) {
	o.key(m.key)
	o.dst = append(o.dst, m.value...)
}

func (o *object) text(name, value string) {
	o.key([]byte(name))
	o.dst = appendText(o.dst, value)
}

func (o *object) texts(name string, values []string) {
	o.key([]byte(name))
	o.dst = append(o.dst, '[')
	for i, v := range values {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		o.dst = appendText(o.dst, v)
	}
	o.dst = append(o.dst, ']')
}

func (o *object) end() []byte { return append(o.dst, '}') }

// appendText appends a text as JSON. It has no characters that JSON writes otherwise than Go.
func appendText(dst []byte, s string) []byte { return strconv.AppendQuote(dst, s) }

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

// root appends the schema of a resource's objects, without its end: more members may follow.
func (p *publisher) root(dst, schema []byte) object {
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
	o := p.fields(dst, n, m, p.v2 && n.is("nullable"))
	return o.end()
}

// embeds reports whether a schema is that of an object with the fields that all have.
func (p *publisher) embeds(n node) bool {
	return n.is(embedded) && (!p.v2 || !n.is(preserveUnknown))
}

// fields appends the members of a schema. An opened one says nothing of its type, as it allows
// null.
func (p *publisher) fields(dst []byte, n node, m *meta, opened bool) object {
	o := begin(dst)
	either := n.is(intOrString)
	closed := p.v2 && n.is(preserveUnknown)
	for _, f := range n {
		switch string(f.key) {
		case "$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "properties", "required":
			// No structural schema has the first ones; the last two are below.
		case "type":
			if !either && !opened {
				o.raw(f)
			}
		case "nullable":
			if !opened {
				o.raw(f)
			}
		case "items":
			if !opened && !closed && f.value[0] == '{' {
				o.key(f.key)
				o.dst = p.append(o.dst, f.value)
			}
		case "additionalProperties":
			if !opened {
				o.key(f.key)
				o.dst = p.append(o.dst, f.value)
			}
		case "default", "not", "allOf", "anyOf", "oneOf":
			p.logic(&o, f, n)
		default:
			o.raw(f)
		}
	}
	if either && !p.v2 && n.get("anyOf") == nil && !saysEither(n) {
		o.member("anyOf", []byte(integerOrText))
	}
	if !opened && !closed {
		p.properties(&o, n, m)
	}
	p.required(&o, n)
	return o
}

// logic appends what v2 has no words for. What is an integer or a text says so, where it does
// not yet.
func (p *publisher) logic(o *object, f member, n node) {
	switch {
	case p.v2:
	case string(f.key) == "default":
		o.raw(f)
	case string(f.key) == "not":
		o.key(f.key)
		o.dst = p.append(o.dst, f.value)
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
func (p *publisher) list(o *object, f member, first []byte) {
	o.key(f.key)
	o.dst = append(append(o.dst, '['), first...)
	start := len(o.dst) - len(first)
	for i := wire.NextJSON(f.value, 1); i < len(f.value); {
		end := wire.SkipJSON(f.value, i)
		if len(o.dst) > start {
			o.dst = append(o.dst, ',')
		}
		o.dst = p.append(o.dst, f.value[i:end])
		i = wire.NextJSON(f.value, end)
	}
	o.dst = append(o.dst, ']')
}

// saysEither reports whether a schema says itself that it is of an integer or a text.
func saysEither(n node) bool {
	return isEither(n) || isEither(first(n.get("allOf")))
}

func isEither(n node) bool {
	var got, want any
	given := n.get("anyOf")
	return given != nil && json.Unmarshal(given, &got) == nil && json.Unmarshal([]byte(integerOrText), &want) == nil && reflect.DeepEqual(got, want)
}

// first reads the first schema of a list.
func first(list []byte) node {
	if len(list) == 0 {
		return nil
	}
	i := wire.NextJSON(list, 1)
	return read(list[i:wire.SkipJSON(list, i)])
}

func (p *publisher) properties(o *object, n node, m *meta) {
	given, start := p.enter(n.get("properties"))
	defer p.leave(start)
	if len(given) == 0 && m == nil {
		return
	}
	o.key([]byte("properties"))
	inner := begin(o.dst)
	for _, f := range given {
		switch string(f.key) {
		case "apiVersion", "kind", "metadata":
			if m != nil {
				continue
			}
		}
		inner.key(f.key)
		inner.dst = p.append(inner.dst, f.value)
	}
	if m != nil {
		inner.member("apiVersion", text(m.apiVersion))
		inner.member("kind", text(m.kind))
		inner.key([]byte("metadata"))
		inner.dst = p.ref(inner.dst, metaPackage+"ObjectMeta", metadataDoc)
	}
	o.dst = inner.end()
}

// required appends which fields are. In v2 those are not that may be null.
func (p *publisher) required(o *object, n node) {
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
		names = append(appendText(names, m), ',')
	}
	if len(names) > 0 {
		o.key([]byte("required"))
		o.dst = append(append(append(o.dst, '['), names[:len(names)-1]...), ']')
	}
}

// text is the schema of a text with a description.
func text(description string) []byte {
	o := begin(nil)
	o.text("type", "string")
	o.text("description", description)
	return o.end()
}

// ref appends a reference with a description of its own, which OpenAPI v3 allows only around
// it.
func (p *publisher) ref(dst []byte, model, description string) []byte {
	o := begin(dst)
	o.text("description", description)
	if p.v2 {
		o.text("$ref", p.refs+model)
		return o.end()
	}
	o.key([]byte("allOf"))
	o.dst = append(p.plainRef(append(o.dst, '['), model), ']')
	return o.end()
}

func (p *publisher) plainRef(dst []byte, model string) []byte {
	o := begin(dst)
	o.text("$ref", p.refs+model)
	return o.end()
}
