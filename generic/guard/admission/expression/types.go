package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

const (
	requestName   = "kubernetes.AdmissionRequest"
	namespaceName = "kubernetes.Namespace"
	variablesName = "kubernetes.variables"
)

type fieldTypes map[string]*types.Type

// structs returns the types of request and namespaceObject. Fields that are not listed do not compile. At run
// time their values are maps.
func structs() map[string]fieldTypes {
	text := types.StringType
	texts := types.NewListType(text)
	textMap := types.NewMapType(text, text)
	kind := types.NewObjectType("kubernetes.GroupVersionKind")
	resource := types.NewObjectType("kubernetes.GroupVersionResource")
	return map[string]fieldTypes{
		"kubernetes.GroupVersionKind":     {"group": text, "version": text, "kind": text},
		"kubernetes.GroupVersionResource": {"group": text, "version": text, "resource": text},
		"kubernetes.UserInfo": {"username": text, "uid": text, "groups": texts,
			"extra": types.NewMapType(text, texts)},
		requestName: {
			"kind": kind, "resource": resource, "subResource": text,
			"requestKind": kind, "requestResource": resource, "requestSubResource": text,
			"name": text, "namespace": text, "operation": text, "userInfo": types.NewObjectType("kubernetes.UserInfo"),
			"dryRun": types.BoolType, "options": types.DynType,
		},
		"kubernetes.NamespaceMetadata": {
			"name": text, "generateName": text, "namespace": text, "labels": textMap, "annotations": textMap, "UID": text,
			"creationTimestamp": types.TimestampType, "deletionGracePeriodSeconds": types.IntType,
			"deletionTimestamp": types.TimestampType, "generation": types.IntType, "resourceVersion": text, "finalizers": texts,
		},
		"kubernetes.NamespaceSpec":   {"finalizers": texts},
		"kubernetes.NamespaceStatus": {"phase": text},
		namespaceName: {
			"metadata": types.NewObjectType("kubernetes.NamespaceMetadata"),
			"spec":     types.NewObjectType("kubernetes.NamespaceSpec"),
			"status":   types.NewObjectType("kubernetes.NamespaceStatus"),
		},
	}
}

// provider adds types to those of CEL: structs, the declared variables of a policy, and the types of mutations.
type provider struct {
	types.Provider
	structs   map[string]fieldTypes
	variables fieldTypes
	mutation  bool
}

func (p *provider) fields(name string) (fieldTypes, bool) {
	if name == variablesName && p.variables != nil {
		return p.variables, true
	}
	f, ok := p.structs[name]
	return f, ok
}

// FindStructType implements types.Provider.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.fields(name); ok || p.mutation && isPatchType(name) {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	fields, ok := p.fields(name)
	if !ok {
		return p.Provider.FindStructFieldNames(name)
	}
	names := make([]string, 0, len(fields))
	for n := range fields {
		names = append(names, n)
	}
	return names, true
}

// FindStructFieldType implements types.Provider.
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if fields, ok := p.fields(name); ok {
		t, ok := fields[field]
		if !ok {
			return nil, false
		}
		return &types.FieldType{Type: t}, true
	}
	if p.mutation && isPatchType(name) {
		return patchField(name, field)
	}
	return p.Provider.FindStructFieldType(name, field)
}

// FindIdent implements types.Provider.
func (p *provider) FindIdent(name string) (ref.Val, bool) {
	if p.mutation && isPatchType(name) {
		return cel.ObjectType(name), true
	}
	return p.Provider.FindIdent(name)
}

// NewValue implements types.Provider.
func (p *provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if p.mutation && isPatchType(name) {
		return newPatchValue(name, fields)
	}
	if _, ok := p.fields(name); ok {
		return types.NewErr("objects of type %s cannot be made in expressions", name)
	}
	return p.Provider.NewValue(name, fields)
}

func (p *provider) option() cel.EnvOption { return cel.CustomTypeProvider(p) }
