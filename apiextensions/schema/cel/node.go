package cel

import (
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	"triplane.dev/apiextensions/schema"
)

// node is a schema as CEL sees it.
type node struct {
	schema *schema.Schema
	typ    *types.Type
	// fields by their escaped names; elem is that of lists and maps.
	fields map[string]*fieldNode
	elem   *node
}

type fieldNode struct {
	name string
	node *node
}

// tree makes the nodes of a schema and registers its object types.
type tree struct {
	structs map[string]*node
	metrics *Metrics // nil counts nothing
}

// unseen names the type of a schema within one that has none.
func (t *tree) unseen() string { return "selfType" + strconv.Itoa(len(t.structs)) }

// element is the node of items or entries, nil where there is none.
func (n *node) element() *node {
	if n == nil {
		return nil
	}
	return n.elem
}

// field is the node of a property, nil where there is none.
func (n *node) field(name string) *node {
	if n == nil || n.fields[Escape(name)] == nil {
		return nil
	}
	return n.fields[Escape(name)].node
}

func newTree(s *schema.Schema) (*tree, *node) {
	t := &tree{structs: map[string]*node{}}
	return t, t.node(s, "selfType", true)
}

// node returns nil for schemas whose values rules cannot see.
func (t *tree) node(s *schema.Schema, name string, resource bool) *node {
	if s == nil {
		return nil
	}
	n := &node{schema: s}
	if s.IntOrString {
		n.typ = types.DynType
		return n
	}
	switch s.Type {
	case "array":
		if n.elem = t.node(s.Items, name+".@items", false); n.elem == nil {
			return nil
		}
		n.typ = types.NewListType(n.elem.typ)
	case "object":
		if s.Additional != nil {
			if n.elem = t.node(s.Additional, name+".@values", false); n.elem == nil {
				return nil
			}
			n.typ = types.NewMapType(types.StringType, n.elem.typ)
			break
		}
		t.object(n, name, resource || s.Embedded)
	case "string":
		n.typ = stringType(s.Format)
	case "boolean":
		n.typ = types.BoolType
	case "number":
		n.typ = types.DoubleType
	case "integer":
		n.typ = types.IntType
	default:
		return nil
	}
	return n
}

func (t *tree) object(n *node, name string, resource bool) {
	n.typ = types.NewObjectType(name)
	n.fields = map[string]*fieldNode{}
	for prop, s := range n.schema.Properties {
		if c := t.node(s, name+"."+prop, false); c != nil {
			n.fields[Escape(prop)] = &fieldNode{name: prop, node: c}
			if reserved[prop] {
				// The parser takes some of these names as they are.
				n.fields[prop] = n.fields[Escape(prop)]
			}
		}
	}
	if resource {
		text := textNode(nil)
		n.fields["apiVersion"] = &fieldNode{"apiVersion", text}
		n.fields["kind"] = &fieldNode{"kind", text}
		meta := &node{schema: &schema.Schema{Type: "object"}, typ: types.NewObjectType(name + ".metadata"),
			fields: map[string]*fieldNode{
				"name":         {"name", textNode(ptr.To[int64](maxName))},
				"generateName": {"generateName", textNode(ptr.To[int64](maxName - 1))},
			}}
		t.structs[name+".metadata"] = meta
		n.fields["metadata"] = &fieldNode{"metadata", meta}
	}
	t.structs[name] = n
}

// maxName is the length of the longest name of an object. That which is generated is longer than what it is made
// from.
const maxName = 253

// textNode is a string of so many characters; nil is any number.
func textNode(most *int64) *node {
	s := &schema.Schema{Type: "string"}
	if most != nil {
		s.Props = &apiextensionsv1.JSONSchemaProps{Type: "string", MaxLength: most}
	}
	return &node{schema: s, typ: types.StringType}
}

func stringType(format string) *types.Type {
	switch format {
	case "byte":
		return types.BytesType
	case "duration":
		return types.DurationType
	case "date", "date-time":
		return types.TimestampType
	}
	return types.StringType
}

// reserved are names that CEL keeps for itself; a property of one is between
// double underscores.
var reserved = map[string]bool{
	"true": true, "false": true, "null": true, "in": true, "as": true, "break": true, "const": true, "continue": true,
	"else": true, "for": true, "function": true, "if": true, "import": true, "let": true, "loop": true,
	"package": true, "namespace": true, "return": true, "var": true, "void": true, "while": true,
}

// Escape is how rules call a property.
func Escape(name string) string {
	if reserved[name] {
		return "__" + name + "__"
	}
	if !strings.ContainsAny(name, ".-/") && !strings.Contains(name, "__") {
		return name
	}
	return strings.NewReplacer("__", "__underscores__", ".", "__dot__", "-", "__dash__", "/", "__slash__").Replace(name)
}
