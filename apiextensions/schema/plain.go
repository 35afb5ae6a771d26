package schema

import "time"

// isPlainMetadata reports whether metadata is in ObjectMeta's form beyond doubt, as
// clients send it who have read it from here.
func isPlainMetadata(v any) bool { return isPlain(v, plainMetadata) }

// plainness reports whether a value would come back from its Go type as it is.
type plainness func(v any) bool

var plainMetadata = map[string]plainness{
	"name": isText, "namespace": isText, "generateName": isText, "uid": isText, "resourceVersion": isText,
	"labels": isPlainMap, "annotations": isPlainMap,
	"generation": isCount, "creationTimestamp": isTime, "deletionTimestamp": isTime, "deletionGracePeriodSeconds": isWhole,
	"finalizers":      listOf(isText),
	"managedFields":   listOf(func(v any) bool { return isPlain(v, plainEntry) }),
	"ownerReferences": listOf(isPlainOwner),
}

var plainEntry = map[string]plainness{
	"manager": isText, "operation": isText, "apiVersion": isText, "fieldsType": isText, "subresource": isText,
	"time":     isTime,
	"fieldsV1": func(v any) bool { m, ok := v.(map[string]any); return ok && m != nil },
}

var plainOwner = map[string]plainness{
	"apiVersion": isText, "kind": isText, "name": isText, "uid": isText, "controller": isBool,
	"blockOwnerDeletion": isBool,
}

// isPlainOwner wants the fields that are never left out.
func isPlainOwner(v any) bool {
	m, _ := v.(map[string]any)
	for _, name := range []string{"apiVersion", "kind", "name", "uid"} {
		if _, found := m[name]; !found {
			return false
		}
	}
	return isPlain(v, plainOwner)
}

func isPlain(v any, fields map[string]plainness) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for name, v := range m {
		if plain := fields[name]; plain == nil || !plain(v) {
			return false
		}
	}
	return true
}

func isText(v any) bool { s, ok := v.(string); return ok && s != "" }

func isBool(v any) bool { _, ok := v.(bool); return ok }

func isCount(v any) bool { n, ok := v.(int64); return ok && n != 0 }

func isWhole(v any) bool { _, ok := v.(int64); return ok }

// isTime wants a time as the API writes it.
func isTime(v any) bool {
	s, ok := v.(string)
	if !ok || len(s) != len("2006-01-02T15:04:05Z") {
		return false
	}
	t, err := time.Parse(time.RFC3339, s)
	return err == nil && !t.IsZero() && s[len(s)-1] == 'Z'
}

func listOf(plain plainness) plainness {
	return func(v any) bool {
		list, ok := v.([]any)
		if !ok || len(list) == 0 {
			return false
		}
		for _, v := range list {
			if !plain(v) {
				return false
			}
		}
		return true
	}
}

func isPlainMap(v any) bool {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		return false
	}
	for _, v := range m {
		if _, ok := v.(string); !ok {
			return false
		}
	}
	return true
}
