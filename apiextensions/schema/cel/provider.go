package cel

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// provider adds a tree's object types to those of CEL.
type provider struct {
	types.Provider
	tree *tree
}

func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if n, ok := p.tree.structs[name]; ok {
		return types.NewTypeTypeWithParam(n.typ), true
	}
	return p.Provider.FindStructType(name)
}

func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	n, ok := p.tree.structs[name]
	if !ok {
		return p.Provider.FindStructFieldNames(name)
	}
	var names []string
	for f := range n.fields {
		names = append(names, f)
	}
	return names, true
}

func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	n, ok := p.tree.structs[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, field)
	}
	f, ok := n.fields[field]
	if !ok {
		return nil, false
	}
	return &types.FieldType{Type: f.node.typ}, true
}

func (p *provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := p.tree.structs[name]; ok {
		return types.NewErr("objects of type %s cannot be made in rules", name)
	}
	return p.Provider.NewValue(name, fields)
}
