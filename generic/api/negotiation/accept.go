package negotiation

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/munnerz/goautoneg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/storage/wire"
)

// Transform is a shape of the answer other than the object itself.
type Transform uint8

// The shapes that clients may ask for with "as=" in an Accept header.
const (
	None Transform = iota
	Table
	PartialObjectMetadata
	PartialObjectMetadataList
)

// Output is the negotiated form of an answer.
type Output struct {
	MediaType wire.MediaType
	Transform Transform
	// Version of meta.k8s.io that the transformed object has ("v1", "v1beta1").
	Version string
	// Pretty asks for indented JSON.
	Pretty bool
}

// Kind is the kind of the transformed answer.
func (o Output) Kind() schema.GroupVersionKind {
	kind := schema.GroupVersionKind{Group: metav1.GroupName, Version: o.Version}
	switch o.Transform {
	case Table:
		kind.Kind = "Table"
	case PartialObjectMetadata:
		kind.Kind = "PartialObjectMetadata"
	case PartialObjectMetadataList:
		kind.Kind = "PartialObjectMetadataList"
	}
	return kind
}

// Rules are what an endpoint can serve.
type Rules struct {
	// Protobuf and CBOR report whether objects can travel so.
	Protobuf bool
	CBOR     bool
	// ProtobufMetadata has the metadata of objects travel in protobuf, which cannot
	// do so themselves.
	ProtobufMetadata bool
	// Stream says that the answer is a watch, which may be asked for as a
	// sequence of CBOR items.
	Stream bool
	// Transforms reports whether metadata, and with Table tables, can be asked for.
	Transforms bool
	Table      bool
}

// Negotiate finds the form of the answer to a request. The error is a 406
// status.
func Negotiate(r *http.Request, rules Rules) (Output, error) {
	o, ok := negotiateAccept(r.Header.Get("Accept"), rules)
	if !ok {
		return Output{}, NotAcceptable(rules.MediaTypes())
	}
	o.Pretty = o.Pretty || pretty(r)
	return o, nil
}

// NegotiateStream is Negotiate for watches, which do not travel as YAML.
func NegotiateStream(r *http.Request, rules Rules) (Output, error) {
	rules.Stream = true
	o, err := Negotiate(r, rules)
	if err != nil {
		return Output{}, err
	}
	if o.MediaType == wire.YAML {
		return Output{}, NotAcceptable(rules.StreamMediaTypes())
	}
	return o, nil
}

// common are the answers to the headers that nearly all clients send.
var common = map[string]Output{
	"":                                    {MediaType: wire.JSON},
	"*/*":                                 {MediaType: wire.JSON},
	"application/json":                    {MediaType: wire.JSON},
	"application/json, */*":               {MediaType: wire.JSON},
	"application/json;stream=watch":       {MediaType: wire.JSON},
	"application/vnd.kubernetes.protobuf": {MediaType: wire.Protobuf},
	"application/vnd.kubernetes.protobuf,application/json": {MediaType: wire.Protobuf},
	"application/vnd.kubernetes.protobuf, */*":             {MediaType: wire.Protobuf},
	"application/vnd.kubernetes.protobuf;stream=watch":     {MediaType: wire.Protobuf},
}

func negotiateAccept(header string, rules Rules) (Output, bool) {
	if o, ok := common[header]; ok && (o.MediaType == wire.JSON || rules.Protobuf) {
		return o, true
	}
	for _, clause := range goautoneg.ParseAccept(header) {
		for _, mt := range rules.supported() {
			if !rules.matches(clause, mt) {
				continue
			}
			if o, ok := accept(clause.Params, mt, rules); ok {
				return o, true
			}
		}
	}
	return Output{}, false
}

func (r Rules) matches(c goautoneg.Accept, mt wire.MediaType) bool {
	if c.Type == "*" {
		return c.SubType == "*"
	}
	if c.Type != "application" {
		return false
	}
	return c.SubType == "*" || "application/"+c.SubType == Name(mt) ||
		(r.Stream && mt == wire.CBOR && c.SubType == "cbor-seq")
}

func accept(params map[string]string, mt wire.MediaType, rules Rules) (Output, bool) {
	o := Output{MediaType: mt}
	var as, g, v string
	transformed := false
	for k, value := range params {
		switch k {
		case "as":
			as, transformed = value, true
		case "g":
			g, transformed = value, true
		case "v":
			v, transformed = value, true
		case "stream":
			if value != "" && (value != "watch" || mt == wire.YAML) {
				return o, false
			}
		case "sv":
			if value != "" && value != "v1" {
				return o, false
			}
		case "pretty":
			o.Pretty = value == "1"
		}
	}
	protobuf := mt != wire.Protobuf || rules.Protobuf
	if !transformed {
		return o, protobuf
	}
	if g != metav1.GroupName || (v != "v1" && v != "v1beta1") || !rules.Transforms {
		return o, false
	}
	o.Version = v
	switch as {
	case "Table":
		o.Transform = Table
		return o, rules.Table && (mt == wire.JSON || mt == wire.YAML) // tables have no other form
	case "PartialObjectMetadata":
		o.Transform = PartialObjectMetadata
	case "PartialObjectMetadataList":
		o.Transform = PartialObjectMetadataList
	default:
		return o, false
	}
	return o, true
}

// pretty reports whether a person reads the answer: because the query says so, or
// the client is a browser or a command line tool.
func pretty(r *http.Request) bool {
	if strings.Contains(r.URL.RawQuery, "pretty") {
		if p := r.URL.Query().Get("pretty"); p != "" {
			v, _ := strconv.ParseBool(p)
			return v
		}
	}
	ua := r.UserAgent()
	return strings.HasPrefix(ua, "curl") || strings.HasPrefix(ua, "Wget") || strings.HasPrefix(ua, "Mozilla/5.0")
}
