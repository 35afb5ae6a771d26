package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/wire"
)

// Options completes a typed codec. Nil functions mean nothing to do.
type Options struct {
	// New returns an empty object; nil asks the scheme.
	New     func() runtime.Object
	Default func(runtime.Object)
	ToHub   func(runtime.Object) (runtime.Object, error)
	FromHub func(runtime.Object) (runtime.Object, error)
}

// typed is the codec of a Go type that the scheme knows.
type typed struct {
	kind     schema.GroupVersionKind
	options  Options
	protobuf bool
	// embedsJSON reports whether the Go type has fields that hold JSON as it was sent, hasQuantities whether
	// it has quantities, shape how readJSON reads it.
	embedsJSON, hasQuantities func() bool
	shape                     func() *shape
	// serializers are made on first use, which most versions of a server never see.
	serializers func() *serializers
}

// serializers are those of apimachinery, for all that has no shorter way.
type serializers struct {
	decoders map[decoderKey]runtime.Decoder
	cbor     cbor.Serializer
}

type decoderKey struct {
	mt     wire.MediaType
	strict bool
}

// New returns the codec of a kind whose Go types are registered in
// the scheme.
func New(scheme *runtime.Scheme, kind schema.GroupVersionKind, o Options) (rest.Codec, error) {
	if o.New == nil {
		if !scheme.Recognizes(kind) {
			return nil, fmt.Errorf("registry: %s is not in the scheme", kind)
		}
		o.New = func() runtime.Object {
			obj, err := scheme.New(kind)
			if err != nil { // the scheme recognized it above, and keeps what it recognizes
				return &runtime.Unknown{}
			}
			return obj
		}
	}
	c := &typed{kind: kind, options: o}
	_, c.protobuf = o.New().(runtime.ProtobufMarshaller)
	c.embedsJSON = sync.OnceValue(func() bool { return embedsJSON(reflect.TypeOf(o.New())) })
	c.hasQuantities = sync.OnceValue(func() bool { return hasQuantities(reflect.TypeOf(o.New())) })
	c.shape = sync.OnceValue(func() *shape { return shapeOf(reflect.TypeOf(o.New())) })
	types := ownType{Scheme: scheme, kind: kind, empty: o.New}
	c.serializers = sync.OnceValue(func() *serializers { return newSerializers(types) })
	return c, nil
}

// ownType is a scheme in which one kind has the Go type of its codec.
type ownType struct {
	*runtime.Scheme
	kind  schema.GroupVersionKind
	empty func() runtime.Object
}

// New implements runtime.ObjectCreater.
func (t ownType) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	if kind == t.kind {
		return t.empty(), nil
	}
	return t.Scheme.New(kind)
}

func newSerializers(types ownType) *serializers {
	s := &serializers{cbor: cbor.NewSerializer(types, types)}
	s.decoders = map[decoderKey]runtime.Decoder{
		{wire.CBOR, false}: s.cbor,
		{wire.CBOR, true}:  cbor.NewSerializer(types, types, cbor.Strict(true)),
	}
	for _, strict := range []bool{false, true} {
		for _, mt := range []wire.MediaType{wire.JSON, wire.YAML} {
			s.decoders[decoderKey{mt, strict}] = jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory,
				types, types, jsonserializer.SerializerOptions{Yaml: mt == wire.YAML, Strict: strict})
		}
		// Protobuf has no unknown fields to be strict about.
		s.decoders[decoderKey{wire.Protobuf, strict}] = protobuf.NewSerializer(types, types)
	}
	return s
}

func (c *typed) Kind() schema.GroupVersionKind { return c.kind }

func (c *typed) New() runtime.Object { return c.options.New() }

func (c *typed) Supports(mt wire.MediaType) bool { return mt != wire.Protobuf || c.protobuf }

func (c *typed) Default(obj runtime.Object) {
	if c.options.Default != nil {
		c.options.Default(obj)
	}
}

func (c *typed) ToHub(obj runtime.Object) (runtime.Object, error) {
	if c.options.ToHub == nil {
		return obj, nil
	}
	return c.options.ToHub(obj)
}

func (c *typed) FromHub(obj runtime.Object) (runtime.Object, error) {
	if c.options.FromHub == nil {
		return obj, nil
	}
	return c.options.FromHub(obj)
}

func (c *typed) Decode(body []byte, mt wire.MediaType,
	strict bool) (runtime.Object, *schema.GroupVersionKind, []error, error) {
	if mt == wire.YAML {
		return c.decodeYAML(body, strict)
	}
	if err := c.check(body, mt); err != nil {
		kind := c.kind
		return nil, &kind, nil, err
	}
	if mt == wire.JSON {
		if obj, errs, ok := c.decodeJSON(body, strict); ok {
			kind := c.kind
			return obj, &kind, errs, nil
		}
	}
	return c.decodeLong(body, mt, strict)
}

// decodeYAML decodes the JSON that a body is converted to, if it says exactly what is expected.
func (c *typed) decodeYAML(body []byte, strict bool) (runtime.Object, *schema.GroupVersionKind, []error, error) {
	text, duplicate, err := wire.YAMLToJSON(body, strict)
	if err != nil {
		return c.decodeLong(body, wire.YAML, strict)
	}
	kind := c.kind
	if err := c.check(text, wire.JSON); err != nil {
		return nil, &kind, nil, err
	}
	obj, errs, ok := c.decodeJSON(text, strict)
	if !ok {
		return c.decodeLong(body, wire.YAML, strict)
	}
	if duplicate != nil {
		errs = append([]error{duplicate}, errs...)
	}
	return obj, &kind, errs, nil
}

// check refuses what would occupy the decoder, or a later comparison, without bound.
func (c *typed) check(body []byte, mt wire.MediaType) error {
	if err := checkDepth(body, mt); err != nil {
		return err
	}
	return c.checkQuantities(body, mt)
}

// decodeLong takes the serializers of apimachinery.
func (c *typed) decodeLong(body []byte, mt wire.MediaType,
	strict bool) (runtime.Object, *schema.GroupVersionKind, []error, error) {
	decoder, ok := c.serializers().decoders[decoderKey{mt, strict}]
	if !ok || !c.Supports(mt) {
		return nil, nil, nil, fmt.Errorf("registry: %s cannot travel as media type %d", c.kind.Kind, mt)
	}
	obj, kind, err := decoder.Decode(body, &c.kind, nil)
	if runtime.IsStrictDecodingError(err) && obj != nil {
		s, _ := runtime.AsStrictDecodingError(err)
		return obj, kind, s.Errors(), nil
	}
	if err == nil && mt == wire.Protobuf {
		err = checkOwners(obj)
	}
	if err == nil && mt == wire.Protobuf && c.embedsJSON() {
		// Who has the object later encodes it as JSON, which has to be possible.
		var text []byte
		if text, err = wire.AppendJSON(nil, obj); err == nil {
			err = wire.CheckDepth(text)
		}
	}
	return obj, kind, nil, c.inVersion(err)
}

// inVersion returns the error of a value of the wrong type as that of the codec's version: versions with the same
// fields share the Go type of one of them.
func (c *typed) inVersion(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	wanted := wrong.Type
	for wanted.Name() == "" && (wanted.Kind() == reflect.Slice || wanted.Kind() == reflect.Map) {
		wanted = wanted.Elem()
	}
	shared := reflect.TypeOf(c.New()).Elem()
	if wanted.PkgPath() != shared.PkgPath() {
		return err
	}
	name := wrong.Type.String()
	own := strings.Replace(name, path.Base(shared.PkgPath())+".", c.kind.Version+".", 1)
	return errors.New(strings.TrimSuffix(err.Error(), name) + own)
}

// checkOwners refuses sets of fields that are nested too deep, which protobuf brings as they are.
func checkOwners(obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	for _, entry := range m.GetManagedFields() {
		if entry.FieldsV1 == nil {
			continue
		}
		if err := wire.CheckDepth(entry.FieldsV1.Raw); err != nil {
			return err
		}
	}
	return nil
}

// checkDepth refuses what is nested so deep that decoding it could end the process, and working with it takes long.
// The CBOR decoder bounds the depth itself.
func checkDepth(body []byte, mt wire.MediaType) error {
	switch mt {
	case wire.Protobuf:
		return wire.CheckProtobufDepth(body)
	case wire.JSON:
		return wire.CheckDepth(body)
	}
	return nil
}

// decodeJSON is the short way for bodies that are well-formed and say exactly
// what is expected. All else takes the serializer's way, for its errors and its
// handling of missing kinds.
func (c *typed) decodeJSON(body []byte, strict bool) (obj runtime.Object, strictErrs []error, ok bool) {
	if obj = c.options.New(); readJSON(body, obj, c.shape()) && obj.GetObjectKind().GroupVersionKind() == c.kind {
		return obj, nil, true
	}
	obj = c.options.New()
	var err error
	if strict {
		strictErrs, err = kjson.UnmarshalStrict(body, obj)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(body, obj)
	}
	if err != nil || obj.GetObjectKind().GroupVersionKind() != c.kind {
		return nil, nil, false
	}
	return obj, strictErrs, true
}

// Encode sets the object's kind and apiVersion, unless they are right already:
// an object that others read at the same time has to bring them.
func (c *typed) Encode(dst []byte, obj runtime.Object, mt wire.MediaType) ([]byte, error) {
	if k := obj.GetObjectKind(); k.GroupVersionKind() != c.kind {
		k.SetGroupVersionKind(c.kind)
	}
	return c.encode(dst, obj, mt)
}

// encode writes an object with the kind that it has.
func (c *typed) encode(dst []byte, obj runtime.Object, mt wire.MediaType) ([]byte, error) {
	switch mt {
	case wire.JSON:
		return wire.AppendJSON(dst, obj)
	case wire.YAML:
		b, err := yaml.Marshal(obj)
		return append(dst, bytes.TrimSuffix(b, []byte("\n"))...), err
	case wire.Protobuf:
		return wire.AppendProtobuf(dst, c.kind, obj)
	case wire.CBOR:
		w := wire.NewWriter(dst)
		err := c.serializers().cbor.Encode(obj, w)
		return w.Bytes(), err
	}
	return nil, fmt.Errorf("registry: unknown media type %d", mt)
}

// EncodeItem encodes an object as an item of a list: a Go struct without its kind and apiVersion, others as they are.
func EncodeItem(c rest.Codec, obj runtime.Object, mt wire.MediaType) ([]byte, error) {
	if t, ok := c.(*typed); ok {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		return t.encode(nil, obj, mt)
	}
	return c.Encode(nil, obj, mt)
}
