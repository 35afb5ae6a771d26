package managedfields

import (
	"encoding/json"
	"testing"
)

// FuzzEntries updates objects whose owners are what a client may have sent: the
// short way and the library's have the same effect, and none panics.
func FuzzEntries(f *testing.F) {
	for _, fields := range []string{
		`{"f:data":{".":{},"f:a":{}}}`, `{"f:data":{"f:b":{}},"f:metadata":{"f:labels":{"f:x":{}}}}`, `{"f:data":{"k:{\"a\":1}":{},"v:1":{},"i:0":{}}}`,
		`{".":{}}`, `{}`, `null`, `[]`, `{"f:data":`, `{"f:":{"f:":{}}}`, `{"x:a":{}}`, `{}0`, ` {}`,
	} {
		f.Add(fields, "v1", "a", "b")
		f.Add(fields, "v9", "b", "")
	}
	m := newManager(f, configMapKind, "", nil)
	f.Fuzz(func(t *testing.T, fields, version, before, after string) {
		if !json.Valid([]byte(fields)) && len(fields) > 1<<12 {
			return
		}
		live := configMap(map[string]string{"a": before, "b": "x"}, entry("one", version, fields))
		obj := configMap(map[string]string{"a": after, "c": "y"}, entry("one", version, fields))
		if malformed(live.GetManagedFields()) { // the library panics at some of it, so it is not asked
			m.Update(t.Context(), live, obj, "two")
			return
		}
		both(t, m, live, obj, "two")
	})
}
