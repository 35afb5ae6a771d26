package managedfields

import (
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// inASCII replaces each text of a value that has other characters.
func inASCII(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if strings.ContainsFunc(v.String(), func(r rune) bool { return r < ' ' || r >= 0x7f }) {
			v.SetString(fmt.Sprintf("%x", v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			inASCII(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				inASCII(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			inASCII(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			key, entry := reflect.New(k.Type()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.Set(k)
			entry.Set(v.MapIndex(k))
			inASCII(key)
			inASCII(entry)
			v.SetMapIndex(k, reflect.Value{})
			v.SetMapIndex(key, entry)
		}
	}
}

func TestCreationsAreAsTheLibrarys(t *testing.T) {
	short, all := 0, 0
	never := fieldpath.NewSet(fieldpath.MakePathOrDie("status"), fieldpath.MakePathOrDie("metadata", "finalizers"),
		fieldpath.MakePathOrDie("spec", "replicas"))
	for kind := range knownTypes.AllKnownTypes() {
		obj, err := knownTypes.New(kind)
		if _, notMeta := meta.Accessor(obj); err != nil || notMeta != nil || strings.HasSuffix(kind.Kind, "List") ||
			kind.Version == runtime.APIVersionInternal {
			continue
		}
		obj.GetObjectKind().SetGroupVersionKind(kind)
		if _, err := typeConverter.ObjectToTyped(obj); err != nil {
			continue // has no model
		}
		m := newManager(t, kind, "", never)
		for seed := range int64(10) {
			created := obj.DeepCopyObject()
			filler(seed).Fill(created)
			inASCII(reflect.ValueOf(created))
			created.GetObjectKind().SetGroupVersionKind(kind)
			_, quick := both(t, m, obj, created, "me")
			if all++; quick {
				short++
			}
		}
	}
	checkShort(t, short, all, 2)
}

func TestCreationsOfCustomResourcesAreAsTheLibrarys(t *testing.T) {
	for name, types := range customTypes(t) {
		t.Run(name, func(t *testing.T) {
			m := customManager(t, types)
			short, all := 0, 0
			for seed := range int64(1000) {
				obj := newCustom().(*unstructured.Unstructured)
				obj.SetName("a")
				_, quick := both(t, m, newCustom(), randomCustom(rand.New(rand.NewSource(seed)), obj), "me")
				if all++; quick {
					short++
				}
			}
			checkShort(t, short, all, 2)
		})
	}
}

// A field that JSON escapes is owned as well.
func TestEscapedFields(t *testing.T) {
	m := newManager(t, configMapKind, "", nil)
	for _, key := range []string{`a"b`, `a\b`, "a<b>", "a&b", "\u2028", "é", "\x7f", "\n", ""} {
		created := configMap(map[string]string{key: "x", "plain": "y"})
		created.Labels = map[string]string{"z": "", "a": "", "b": ""}
		both(t, m, configMap(nil), created, "me")
		created.UID, created.ResourceVersion = "", ""
		both(t, m, m.options.New(), created, "me")
	}
}
