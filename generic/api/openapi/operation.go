package openapi

import (
	"cmp"
	"encoding/base64"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/common"

	"triplane.dev/generic/storage/wire"
)

// Operation is what a method does at a path.
type Operation struct {
	Method             string // in lower case
	ID, Tag, Doc       string
	Consumes, Produces []string
	// Parameters has the body, too.
	Parameters []Parameter
	Responses  []Response
	// Extensions are members of the operation.
	Extensions []Member
}

// Parameter is what an operation takes. Those of the body ("body") have a model, others a Go type.
type Parameter struct {
	Name, In, Doc      string
	Type, Model        string
	Required, Repeated bool
}

// Response is an answer with a status, of a model.
type Response struct {
	Code  int
	Doc   string
	Model string
}

// Member is one of a JSON object: its name, which needs no escapes, and its value in JSON.
type Member struct {
	Name string
	JSON []byte
}

const inBody = "body"

// Path adds what can be done at a path. Parameters are those of all its operations.
func (d *Draft) Path(path string, parameters []Parameter, operations ...Operation) {
	if d.pathSeen[path] {
		return
	}
	d.pathSeen[path] = true
	members := d.members()
	members.Key([]byte(path))
	o := wire.BeginJSON(members.Dst)
	for i := range operations {
		o.Key([]byte(operations[i].Method))
		o.Dst = d.operation(o.Dst, &operations[i])
	}
	d.parameters(&o, parameters)
	members.Dst = o.End()
}

// pieceOfPaths is how long a piece of the paths is that gets no more.
const pieceOfPaths = 64 << 10

// members is the piece that gets the next path.
func (d *Draft) members() *wire.JSONObject {
	last := len(d.paths) - 1
	switch {
	case last < 0:
		d.paths = append(d.paths, wire.JSONObject{})
	case len(d.paths[last].Dst) < pieceOfPaths:
		return &d.paths[last]
	default:
		d.paths = append(d.paths, wire.JSONObject{Dst: make([]byte, 0, cap(d.paths[last].Dst))})
	}
	return &d.paths[last+1]
}

func (d *Draft) operation(dst []byte, op *Operation) []byte {
	o := wire.BeginJSON(dst)
	o.Texts("tags", []string{op.Tag})
	optional(&o, "description", op.Doc)
	optional(&o, "operationId", op.ID)
	if d.V2 {
		o.Texts("schemes", []string{"https"})
		if len(op.Consumes) > 0 {
			o.Texts("consumes", op.Consumes)
		}
		if len(op.Produces) > 0 {
			o.Texts("produces", op.Produces)
		}
	}
	d.parameters(&o, op.Parameters)
	d.requestBody(&o, op)
	d.responses(&o, op)
	for _, e := range op.Extensions {
		o.Member(e.Name, e.JSON)
	}
	return o.End()
}

func optional(o *wire.JSONObject, name, text string) {
	if text != "" {
		o.Text(name, text)
	}
}

// parameters appends those of an operation or a path, sorted. In v3 the body is none.
func (d *Draft) parameters(o *wire.JSONObject, all []Parameter) {
	slices.SortFunc(all, func(a, b Parameter) int {
		return cmp.Or(strings.Compare(a.Name, b.Name),
			strings.Compare(a.In, b.In))
	})
	first := true
	for _, p := range all {
		switch {
		case p.In == inBody && !d.V2:
			continue
		case first:
			o.Key([]byte("parameters"))
			o.Dst = append(o.Dst, '[')
		default:
			o.Dst = append(o.Dst, ',')
		}
		first = false
		o.Dst = append(o.Dst, d.parameter(p)...)
	}
	if !first {
		o.Dst = append(o.Dst, ']')
	}
}

// parameter returns one, or in v2 what refers to it. Operations take the same ones over and over.
func (d *Draft) parameter(p Parameter) []byte {
	known, ok := d.rendered[p]
	if ok {
		return known
	}
	known = d.appendParameter(nil, p)
	if d.V2 && shareable(p) {
		name := p.Name + "-" + nameHash(known)
		if _, there := d.shared[name]; there || !d.settled {
			d.shared[name] = known
			o := wire.BeginJSON(nil)
			o.Text("$ref", "#/parameters/"+name)
			known = o.End()
		}
	}
	d.rendered[p] = known
	return known
}

// shareable reports whether operations share a parameter: not what differs from kind to kind, nor what
// kubectl before 1.27 looks for in operations.
func shareable(p Parameter) bool {
	switch p.In {
	case "query":
		return p.Name != "name" && p.Name != "fieldValidation" && p.Name != "dryRun"
	case "path":
		return p.Name != "name"
	case inBody:
		return strings.HasPrefix(p.Model, "io.k8s.apimachinery")
	}
	return true
}

// nameHash is what kube-openapi's builder has behind the names of shared parameters, made of their JSON.
func nameHash(text []byte) string {
	h := fnv.New64()
	h.Write(text)
	return base64.URLEncoding.EncodeToString(h.Sum(nil)[:6])
}

func (d *Draft) appendParameter(dst []byte, p Parameter) []byte {
	o := wire.BeginJSON(dst)
	if d.V2 && p.In != inBody {
		appendType(&o, p)
	}
	if d.V2 {
		optional(&o, "description", p.Doc)
	}
	o.Text("name", p.Name)
	o.Text("in", p.In)
	if !d.V2 {
		optional(&o, "description", p.Doc)
	}
	if p.Required {
		o.Member("required", []byte("true"))
	}
	switch {
	case p.In == inBody:
		o.Key([]byte("schema"))
		o.Dst = d.AppendRef(o.Dst, p.Model)
	case !d.V2:
		o.Key([]byte("schema"))
		s := wire.BeginJSON(o.Dst)
		appendType(&s, p)
		o.Dst = s.End()
	}
	return o.End()
}

func appendType(o *wire.JSONObject, p Parameter) {
	kind, format := common.OpenAPITypeFormat(p.Type)
	if !p.Repeated {
		o.Member("uniqueItems", []byte("true"))
	}
	o.Text("type", kind)
	optional(o, "format", format)
}

// requestBody appends the body of v3.
func (d *Draft) requestBody(o *wire.JSONObject, op *Operation) {
	i := slices.IndexFunc(op.Parameters, func(p Parameter) bool { return p.In == inBody })
	if d.V2 || i < 0 {
		return
	}
	p := &op.Parameters[i]
	o.Key([]byte("requestBody"))
	body := wire.BeginJSON(o.Dst)
	optional(&body, "description", p.Doc)
	d.content(&body, p.Model, op.Consumes)
	if p.Required {
		body.Member("required", []byte("true"))
	}
	o.Dst = body.End()
}

// responses appends the responses, including the one for unauthenticated clients.
func (d *Draft) responses(o *wire.JSONObject, op *Operation) {
	o.Key([]byte("responses"))
	all := wire.BeginJSON(o.Dst)
	unauthorized := false
	for _, r := range op.Responses {
		unauthorized = unauthorized || r.Code == http.StatusUnauthorized
		all.Key(strconv.AppendInt(nil, int64(r.Code), 10))
		one := wire.BeginJSON(all.Dst)
		one.Text("description", r.Doc)
		if d.V2 {
			one.Key([]byte("schema"))
			one.Dst = d.AppendRef(one.Dst, r.Model)
		} else {
			d.content(&one, r.Model, op.Produces)
		}
		all.Dst = one.End()
	}
	if !unauthorized {
		all.Member("401", []byte(`{"description":"Unauthorized"}`))
	}
	o.Dst = all.End()
}

// content appends a model in media types.
func (d *Draft) content(o *wire.JSONObject, model string, types []string) {
	if len(types) == 0 {
		return
	}
	o.Key([]byte("content"))
	all := wire.BeginJSON(o.Dst)
	for _, t := range types {
		all.Key([]byte(t))
		one := wire.BeginJSON(all.Dst)
		one.Key([]byte("schema"))
		one.Dst = d.AppendRef(one.Dst, model)
		all.Dst = one.End()
	}
	o.Dst = all.End()
}
