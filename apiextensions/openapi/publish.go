package openapi

import (
	"bytes"
	"encoding/json"
	"iter"
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

// member is a value in a document: one of an object, with its key as it stands between the quotes, or of a list. The
// members of the value follow it; next is the index of what is beside it.
type member struct {
	key, value []byte
	next       int
}

// appendMember appends the value of a document at index i, and all within it, and returns the index after the value. A
// document is gone through once, however deep it is.
func appendMember(all []member, key, doc []byte, i int) ([]member, int) {
	own, start := len(all), i
	all = append(all, member{key: key})
	switch {
	case i == len(doc) || doc[i] != '{' && doc[i] != '[':
		i = wire.SkipJSON(doc, i)
	case doc[i] == '{':
		for i = wire.SkipJSONSpace(doc, i+1); ; i = wire.SkipJSONSpace(doc, i) {
			key, at, ok := wire.JSONKey(doc, i)
			if !ok {
				break
			}
			all, i = appendMember(all, key, doc, at)
		}
		i = min(i+1, len(doc))
	default:
		for i = wire.SkipJSONSpace(doc, i+1); i < len(doc) && doc[i] != ']'; i = wire.SkipJSONSpace(doc, i) {
			before := i
			if all, i = appendMember(all, nil, doc, i); i == before {
				break // no JSON
			}
		}
		i = min(i+1, len(doc))
	}
	all[own].value, all[own].next = doc[start:i], len(all)
	return all, i
}

// node is a value of a document, for example a schema. The zero node is none.
type node struct {
	all []member // of the document
	at  int
}

// value returns the JSON.
func (n node) value() []byte {
	if n.all == nil {
		return nil
	}
	return n.all[n.at].value
}

// members iterates over those of an object or list.
func (n node) members() iter.Seq2[[]byte, node] {
	return func(yield func(key []byte, value node) bool) {
		if n.all == nil {
			return
		}
		for i := n.at + 1; i < n.all[n.at].next; i = n.all[i].next {
			if !yield(n.all[i].key, node{n.all, i}) {
				return
			}
		}
	}
}

func (n node) get(key string) node {
	for k, value := range n.members() {
		if string(k) == key {
			return value
		}
	}
	return node{}
}

func (n node) is(key string) bool { return string(n.get(key).value()) == "true" }

// object reports whether a value is one.
func (n node) object() bool { return len(n.value()) > 0 && n.value()[0] == '{' }

// holds reports whether a schema is of objects or of lists.
func (n node) holds() bool {
	t := string(n.get("type").value())
	return t == `"object"` || t == `"array"`
}

// publisher brings the schema of a CRD, in the JSON of storage, into the form that clients read.
//
// OpenAPI v2 knows no logic on values, no null and no unknown fields: what it cannot say is
// left open.
type publisher struct {
	refs string // what stands before the name of a model
	v2   bool
	all  []member // of the last root, for use by the next one
}

// meta says which fields of every object a schema has.
type meta struct{ apiVersion, kind string }

var (
	ofObjects  = &meta{apiVersionDoc, kindDoc}
	ofEmbedded = &meta{embeddedAPIVersionDoc, embeddedKindDoc}
)

// root appends the schema of a resource's objects.
func (p *publisher) root(dst, schema []byte) []byte {
	p.all, _ = appendMember(p.all[:0], nil, schema, 0)
	return p.fields(dst, node{all: p.all}, ofObjects, false)
}

// append appends a schema, or true or false.
func (p *publisher) append(dst []byte, n node) []byte {
	if !n.object() {
		return append(dst, n.value()...)
	}
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
	for key, f := range n.members() {
		switch string(key) {
		case "$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "properties", "required":
			// No structural schema has the first ones; the last two are below.
		case "type":
			if !untyped {
				o.Member(string(key), f.value())
			}
		case "nullable":
			if !opened {
				o.Member(string(key), f.value())
			}
		case "items":
			if !opened && !closed && f.object() {
				o.Key(key)
				o.Dst = p.append(o.Dst, f)
			}
		case "additionalProperties":
			o.Key(key)
			o.Dst = p.append(o.Dst, f)
		case "default", "not", "allOf", "anyOf", "oneOf":
			p.logic(&o, key, f, n)
		default:
			o.Member(string(key), f.value())
		}
	}
	if either && !p.v2 && n.get("anyOf").value() == nil && !saysEither(n) {
		o.Member("anyOf", []byte(integerOrText))
	}
	if opened || closed {
		p.properties(&o, node{}, m)
	} else {
		p.properties(&o, n.get("properties"), m)
	}
	p.required(&o, n)
	return o.End()
}

// logic appends what v2 has no words for. What is an integer or a text says so, where it does
// not yet.
func (p *publisher) logic(o *wire.JSONObject, key []byte, f, n node) {
	switch {
	case p.v2:
	case string(key) == "default":
		o.Member(string(key), f.value())
	case string(key) == "not":
		o.Key(key)
		o.Dst = p.append(o.Dst, f)
	default:
		hidden := n.is(intOrString) && n.get("anyOf").value() != nil && !saysEither(n)
		if string(key) == "allOf" && hidden {
			return // the other one appends it
		}
		p.list(o, string(key), f, nil)
		if string(key) == "anyOf" && hidden {
			p.list(o, "allOf", n.get("allOf"), []byte(`{"anyOf":`+integerOrText+`}`))
		}
	}
}

// list appends a list of schemas behind the first one, if there is one.
func (p *publisher) list(o *wire.JSONObject, key string, list node, first []byte) {
	o.Key([]byte(key))
	o.Dst = append(append(o.Dst, '['), first...)
	start := len(o.Dst) - len(first)
	for _, schema := range list.members() {
		if len(o.Dst) > start {
			o.Dst = append(o.Dst, ',')
		}
		o.Dst = p.append(o.Dst, schema)
	}
	o.Dst = append(o.Dst, ']')
}

// saysEither reports whether a schema says itself that it is of an integer or a text.
func saysEither(n node) bool {
	return isEither(n) || isEither(first(n.get("allOf")))
}

func isEither(n node) bool {
	var got, want any
	given := n.get("anyOf").value()
	return given != nil && json.Unmarshal(given, &got) == nil && json.Unmarshal([]byte(integerOrText), &want) == nil &&
		reflect.DeepEqual(got, want)
}

// first returns the first schema of a list.
func first(list node) node {
	for _, schema := range list.members() {
		return schema
	}
	return node{}
}

func (p *publisher) properties(o *wire.JSONObject, given node, m *meta) {
	if first(given).value() == nil && m == nil {
		return
	}
	o.Key([]byte("properties"))
	inner := wire.BeginJSON(o.Dst)
	for key, f := range given.members() {
		switch string(key) {
		case "apiVersion", "kind", "metadata":
			if m != nil {
				continue
			}
		}
		inner.Key(key)
		inner.Dst = p.append(inner.Dst, f)
	}
	if m != nil {
		inner.Member("apiVersion", text(m.apiVersion))
		inner.Member("kind", text(m.kind))
		inner.Key([]byte("metadata"))
		inner.Dst = p.ref(inner.Dst, metaPackage+"ObjectMeta", metadataDoc)
	}
	o.Dst = inner.End()
}

// nullable returns the names of the properties that may be null.
func nullable(properties node) (names map[string]bool) {
	for key, schema := range properties.members() {
		if schema.is("nullable") {
			if names == nil {
				names = map[string]bool{}
			}
			names[string(key)] = true
		}
	}
	return names
}

// required appends which fields are. In v2 those are not that may be null.
func (p *publisher) required(o *wire.JSONObject, n node) {
	var optional map[string]bool
	if p.v2 {
		optional = nullable(n.get("properties"))
	}
	more := []string{"kind", "apiVersion"}
	if !p.embeds(n) {
		more = nil
	}
	var names []byte
	for _, required := range n.get("required").members() {
		name := required.value()
		if optional[string(bytes.Trim(name, `"`))] {
			continue
		}
		names = append(append(names, name...), ',')
		more = slices.DeleteFunc(more, func(m string) bool { return string(name) == strconv.Quote(m) })
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
