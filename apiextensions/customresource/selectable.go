package customresource

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	structural "triplane.dev/apiextensions/schema"
	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/registry"
)

// selectableFields are those that can be read of objects of the hub: of all versions, which share a
// cache, unless a webhook converts.
func (d *Definition) selectableFields() []kind.SelectableField[object] {
	var out []kind.SelectableField[object]
	for _, f := range d.allSelectable() {
		out = append(out, kind.SelectableField[object]{Path: f.name, Get: func(u object) string {
			v, _ := structural.Lookup(u.Object, f.path)
			return fieldText(v)
		}})
	}
	return out
}

func (d *Definition) allSelectable() []selectableField {
	var out []selectableField
	seen := map[string]bool{}
	for _, v := range d.versions {
		if v.byWebhook() {
			continue // its fields are those of what the webhook returns
		}
		for _, f := range v.selectable() {
			if !seen[f.name] {
				seen[f.name] = true
				out = append(out, f)
			}
		}
	}
	return out
}

// selecting returns the store as lists and watches of the version use it.
func (v *Version) selecting(store *registry.Store[object]) *registry.Store[object] {
	own := v.selectable()
	if !v.byWebhook() || len(own) == 0 {
		return store
	}
	paths := make(map[string][]string, len(own))
	f := registry.VersionFields{Version: v.gvk.GroupVersion()}
	for _, s := range own {
		f.Names = append(f.Names, s.name)
		paths[s.name] = s.path
	}
	f.Read = func(object []byte, name string) (string, error) {
		if raw, ok := structural.Value(object, paths[name]); ok {
			if value, decoded := scalar(raw); decoded {
				return fieldText(value), nil
			}
		}
		var content map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(object, &content); err != nil {
			return "", err
		}
		value, _ := structural.Lookup(content, paths[name])
		return fieldText(value), nil
	}
	return store.SelectingBy(f)
}

type selectableField struct {
	name string // "spec.a"
	path []string
}

func (v *Version) selectable() []selectableField {
	var out []selectableField
	for _, f := range v.spec.SelectableFields {
		path, err := structural.ParseFieldPath(f.JSONPath)
		if err != nil || len(f.JSONPath) == 0 {
			continue
		}
		out = append(out, selectableField{name: f.JSONPath[1:], path: path})
	}
	return out
}

func fieldText(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case bool:
		return strconv.FormatBool(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return ""
}

// fieldLabel validates the labels of field selectors in the version.
func (v *Version) fieldLabel(_ schema.GroupVersion, label, value string) (string, string, error) {
	if label == "metadata.name" || label == "metadata.namespace" {
		return label, value, nil
	}
	for _, f := range v.selectable() {
		if f.name == label {
			return label, value, nil
		}
	}
	return "", "", fmt.Errorf("field label not supported: %s", label)
}
