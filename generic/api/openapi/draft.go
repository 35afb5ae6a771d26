package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/klauspost/compress/gzip"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/openapi/models"
	"triplane.dev/generic/storage/wire"
)

const refsV2, refsV3 = "#/definitions/", "#/components/schemas/"

// Draft is a document under construction: models are compressed as they are added, and paths are collected. Of several
// models or paths with the same name the first one wins.
type Draft struct {
	// V2 is a document of OpenAPI v2, otherwise it is of v3.
	V2 bool

	title, version string
	secured        bool // says how clients authenticate
	whole          bool // see Whole

	out   bytes.Buffer
	z     *gzip.Writer
	size  int
	known map[string]bool // models that are written

	// paths are members of one object, in pieces: a single one would be copied each time it grows.
	paths    []wire.JSONObject
	pathSeen map[string]bool
	// refs are the models that operations refer to.
	refs map[string]bool

	// rendered are parameters in JSON. shared are those of v2 that operations refer to, by the name
	// in the reference; when they are settled there come no more.
	rendered map[Parameter][]byte
	shared   map[string][]byte
	settled  bool

	// models are what was added by Models, with kinds.
	models  *models.Models
	closure map[string]bool
	kinds   func(model string) []schema.GroupVersionKind

	merged *spec.Swagger // see Merge
}

// newDraft returns an empty document.
func newDraft(v2 bool) *Draft {
	d := &Draft{
		V2: v2, known: map[string]bool{}, pathSeen: map[string]bool{}, refs: map[string]bool{},
		rendered: map[Parameter][]byte{}, shared: map[string][]byte{},
	}
	d.z = negotiation.NewGzip(&d.out)
	if v2 {
		d.write([]byte(`{"swagger":"2.0"`))
	} else {
		d.write([]byte(`{"openapi":"3.0.0","components":{`))
	}
	return d
}

func (d *Draft) write(b []byte) {
	d.size += len(b)
	_, _ = d.z.Write(b) // into memory
}

// About says what the document is of.
func (d *Draft) About(title, version string) { d.title, d.version = title, version }

// Model adds a model in JSON; its name needs no escapes.
func (d *Draft) Model(name string, model []byte) {
	if d.known[name] {
		return
	}
	before := `,"`
	switch {
	case len(d.known) > 0:
	case d.V2:
		before = `,"definitions":{"`
	default:
		before = `"schemas":{"`
	}
	d.known[name] = true
	d.write([]byte(before + name + `":`))
	d.write(model)
}

// Models adds models of m, and all that they refer to; they are written when everything else is there. kinds returns of
// which kinds a model is.
func (d *Draft) Models(m *models.Models, kinds func(model string) []schema.GroupVersionKind, names ...string) error {
	d.models, d.closure, d.kinds = m, m.Closure(names...), kinds
	for _, name := range names {
		if !m.Has(name) {
			return fmt.Errorf("no OpenAPI model %s", name)
		}
	}
	return nil
}

// Free is how a model is called that may have the name of one that Models added.
func (d *Draft) Free(name string) string {
	if d.closure[name] {
		return name + "_v2"
	}
	return name
}

// appendModel appends one of the closure.
func (d *Draft) appendModel(dst []byte, name string) []byte {
	form := models.Form{Refs: d.refsTo(), V2: d.V2}
	dst, own := d.models.AppendModel(dst, name, form)
	if own {
		return dst
	}
	return AppendKinds(dst, d.kinds(name)...)
}

func (d *Draft) refsTo() string {
	if d.V2 {
		return refsV2
	}
	return refsV3
}

// AppendKinds adds to a model of which kinds it is.
func AppendKinds(model []byte, kinds ...schema.GroupVersionKind) []byte {
	if len(kinds) == 0 {
		return model
	}
	model = model[:len(model)-1]
	if model[len(model)-1] != '{' {
		model = append(model, ',')
	}
	model = append(model, `"`+extensionGVK+`":[`...)
	for i, gvk := range kinds {
		if i > 0 {
			model = append(model, ',')
		}
		model = AppendKind(model, gvk)
	}
	return append(model, `]}`...)
}

// AppendKind appends a kind in JSON.
func AppendKind(dst []byte, gvk schema.GroupVersionKind) []byte {
	o := wire.BeginJSON(dst)
	o.Text("group", gvk.Group)
	o.Text("version", gvk.Version)
	o.Text("kind", gvk.Kind)
	return o.End()
}

// AppendRef appends a reference to a model, or what a simple type is.
func (d *Draft) AppendRef(dst []byte, model string) []byte {
	o := wire.BeginJSON(dst)
	if kind, format := common.OpenAPITypeFormat(model); kind != "" {
		o.Text("type", kind)
		if format != "" {
			o.Text("format", format)
		}
		return o.End()
	}
	o.Text("$ref", d.refsTo()+models.Name(model))
	d.refs[model] = true
	return o.End()
}

// Whole makes a document of another server the whole of this one.
func (d *Draft) Whole(doc json.Marshaler) error {
	text, err := doc.MarshalJSON()
	if err != nil {
		return err
	}
	d.out.Reset()
	d.z.Reset(&d.out)
	d.size, d.whole = 0, true
	d.write(text)
	return nil
}

// finish returns the document, nil for an empty one. A draft cannot be used afterwards. hash is known of
// what the document is made of, or "".
func (d *Draft) finish(hash string) *document {
	switch {
	case d.whole:
	case d.title == "" && len(d.known) == 0 && len(d.pathSeen) == 0:
		return nil
	default:
		d.rest()
	}
	_ = negotiation.EndGzip(d.z) // into memory
	return newDocument(packed{bytes.Clone(d.out.Bytes()), d.size}, hash)
}

// rest writes what was gathered.
func (d *Draft) rest() {
	d.writeMerged()
	var model []byte
	for _, name := range slices.Sorted(maps.Keys(d.closure)) {
		model = d.appendModel(model[:0], name)
		d.Model(models.Name(name), model)
	}
	d.end()
}

// end writes what follows the models.
func (d *Draft) end() {
	const bearer = `{"BearerToken":{"type":"apiKey","description":"Bearer Token authentication","name":"authorization","in":"header"}}`
	info := wire.BeginJSON(nil)
	info.Text("title", d.title)
	info.Text("version", d.version)
	if len(d.known) > 0 {
		d.write([]byte(`}`))
	}
	switch {
	case d.V2 && d.secured:
		d.write([]byte(`,"security":[{"BearerToken":[]}],"securityDefinitions":` + bearer))
	case d.V2:
	case d.secured && len(d.known) > 0:
		d.write([]byte(`,"securitySchemes":` + bearer + `}`))
	case d.secured:
		d.write([]byte(`"securitySchemes":` + bearer + `}`))
	default:
		d.write([]byte(`}`))
	}
	d.write([]byte(`,"info":`))
	d.write(info.End())
	if len(d.shared) > 0 {
		d.write([]byte(`,"parameters":{`))
		var o wire.JSONObject
		for _, name := range slices.Sorted(maps.Keys(d.shared)) {
			o.Member(name, d.shared[name])
		}
		d.write(append(o.Dst, '}'))
	}
	d.write([]byte(`,"paths":{`))
	for i := range d.paths {
		if i > 0 {
			d.write([]byte(`,`))
		}
		d.write(d.paths[i].Dst)
	}
	d.write([]byte(`}}`))
}
