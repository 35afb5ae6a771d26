package customresource

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"triplane.dev/apiextensions/conversion"
	structural "triplane.dev/apiextensions/schema"
	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

// objectStorage is how objects are kept: as JSON in the storage version.
type objectStorage struct {
	version    *Version
	apiVersion []byte // of the storage version, in quotes
	namespaced bool
	selectable []selectableField
}

var _ kind.UnstructuredStorage = (*objectStorage)(nil)

func newStorage(d *Definition) *objectStorage {
	return &objectStorage{
		version:    d.storage,
		apiVersion: strconv.AppendQuote(nil, d.storage.gvk.GroupVersion().String()),
		namespaced: d.crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		selectable: d.allSelectable(),
	}
}

// EncodeStored prunes what the storage version has no place for, in the object
// itself too, which is what the client gets to see.
func (s *objectStorage) EncodeStored(obj runtime.Object) ([]byte, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("%T is no custom resource", obj)
	}
	skeleton, err := s.version.skeleton()
	if err != nil {
		return nil, err
	}
	structural.Prune(u.Object, skeleton, false)
	b, err := wire.AppendJSON(nil, u.Object)
	return append(b, '\n'), err
}

// AsStored implements kind.UnstructuredStorage. A status that a write left out
// has its defaults again, and fields of other versions, and nulls and unknown fields
// that server-side apply merged, are gone.
func (s *objectStorage) AsStored(u *unstructured.Unstructured) {
	skeleton, err := s.version.skeleton()
	if err != nil {
		return // nor can it be encoded
	}
	tidy(u.Object, skeleton)
}

// storedContent decodes a value: JSON, or CBOR, which kube-apiserver writes with the feature gate
// CBORServingAndStorage.
func storedContent(value []byte) (content map[string]any, err error) {
	if wire.IsCBOR(value) {
		err = wire.UnmarshalCBOR(value, &content)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(value, &content)
	}
	return content, err
}

// DecodeStored reads a value by the present schema, whatever it was written by.
func (s *objectStorage) DecodeStored(value []byte) (runtime.Object, error) {
	content, err := storedContent(value)
	if err != nil {
		return nil, &storage.DecodeError{Err: err}
	}
	skeleton, err := s.version.skeleton()
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	from := u.GroupVersionKind()
	if from.Version != s.version.gvk.Version {
		// Written when another version was the storage version.
		if old := s.version.definition.versions[from.Version]; old != nil {
			if written, err := old.skeleton(); err == nil {
				tidy(content, written)
			}
		}
		converted, err := s.version.codec.convert(u, s.version)
		if err != nil {
			return nil, err
		}
		if u, _ = converted.(*unstructured.Unstructured); u == nil {
			return nil, fmt.Errorf("%T is no custom resource", converted)
		}
		fit(u.Object, skeleton)
	} else {
		tidy(u.Object, skeleton)
	}
	if u.GetGeneration() == 0 {
		u.SetGeneration(1) // objects older than generations
	}
	return u, nil
}

// tidy brings what was stored into the form of the schema that there is now.
func tidy(content map[string]any, s *structural.Schema) {
	structural.RepairMetadata(content, s)
	fit(content, s)
	complete(content, s)
}

// scan reads a value of the storage version that needs neither pruning nor
// defaults.
func (s *objectStorage) scan(value []byte) (structural.Scan, bool) {
	skeleton, err := s.version.skeleton()
	if err != nil {
		return structural.Scan{}, false
	}
	found, ok := structural.ScanStored(value, skeleton, true)
	return found, ok && bytes.Equal(found.APIVersion.Of(value), s.apiVersion)
}

// Transcode appends the stored bytes to dst where DecodeStored, FromHub and Encode
// would end with the same: the value is of the storage version, nothing has to
// be pruned or defaulted, and the version that is asked for is that one, or has
// the same content (conversion None) and a place for all of it.
func (s *objectStorage) Transcode(dst, value []byte, resourceVersion string, gv schema.GroupVersion,
	mt wire.MediaType) ([]byte, bool, error) {
	if mt != wire.JSON {
		return nil, false, nil
	}
	to := s.version.definition.versions[gv.Version]
	if to == nil {
		return nil, false, nil
	}
	found, ok := s.scan(value)
	if !ok || to != s.version && !s.fits(value, to) {
		return nil, false, nil
	}
	return splice(dst, value, &found, gv, resourceVersion), true, nil
}

// fits reports whether an object of the storage version is one of the other version
// as it is.
func (s *objectStorage) fits(value []byte, to *Version) bool {
	if _, none := to.definition.converter.(conversion.None); !none {
		return false
	}
	if to.shapedAsStorage() {
		return true
	}
	skeleton, err := to.skeleton()
	if err != nil {
		return false
	}
	_, ok := structural.ScanStored(value, skeleton, false)
	return ok
}

// sameShape reports whether the version's schema is the storage version's.
func (v *Version) sameShape() bool {
	schemas, err := v.definition.schemas()
	return err == nil && bytes.Equal(schemas[v.spec.Name], schemas[v.definition.storage.spec.Name])
}

// splice appends the object with another apiVersion, and with its resourceVersion, to dst.
func splice(dst, value []byte, found *structural.Scan, gv schema.GroupVersion, resourceVersion string) []byte {
	const field = `"resourceVersion":"`
	out := slices.Grow(dst, len(value)+len(gv.Group)+len(gv.Version)+len(field)+len(resourceVersion)+4)
	out = append(out, value[:found.APIVersion.Start]...)
	out = append(out, '"')
	out = append(append(append(out, gv.Group...), '/'), gv.Version...)
	out = append(out, '"')
	out = append(out, value[found.APIVersion.End:found.Version]...)
	if found.VersionLast {
		out = append(out, ',')
	}
	out = append(append(append(out, field...), resourceVersion...), '"')
	if !found.VersionLast {
		out = append(out, ',')
	}
	return append(out, bytes.TrimSuffix(value[found.Version:], []byte("\n"))...)
}

// StoredLabels implements kind.UnstructuredStorage. Labels are the same whatever the
// schema says.
func (s *objectStorage) StoredLabels(value []byte) (storage.Set, bool) {
	found, ok := s.scanMetadata(value)
	if !ok {
		return nil, false
	}
	labels := found.Labels.Of(value)
	if len(labels) == 0 {
		return nil, true
	}
	all := string(labels) // which the strings are parts of
	var pairs []storage.Pair
	at := 0
	part := func(b []byte) string {
		at += strings.Index(all[at:], string(b))
		return all[at : at+len(b)]
	}
	ok = structural.Strings(labels, func(key,
		value []byte) {
		pairs = append(pairs, storage.Pair{Key: part(key), Value: part(value)})
	})
	return storage.NewSet(pairs), ok
}

// StoredFields implements kind.UnstructuredStorage. Selectable fields may be defaulted
// or pruned.
func (s *objectStorage) StoredFields(value []byte) (storage.Set, bool) {
	read := s.scanMetadata
	if len(s.selectable) > 0 {
		read = s.scan
	}
	found, ok := read(value)
	if !ok {
		return nil, false
	}
	set := make([]storage.Pair, 0, 3+len(s.selectable))
	set = append(set, storage.Pair{Key: storage.FieldName, Value: text(found.Name.Of(value))},
		storage.Pair{Key: storage.FieldUID, Value: text(found.UID.Of(value))})
	if s.namespaced {
		set = append(set, storage.Pair{Key: storage.FieldNamespace, Value: text(found.Namespace.Of(value))})
	}
	for _, f := range s.selectable {
		raw, ok := structural.Value(value, f.path)
		v, decoded := scalar(raw)
		if !ok || !decoded {
			return nil, false
		}
		set = append(set, storage.Pair{Key: f.name, Value: fieldText(v)})
	}
	return storage.NewSet(set), true
}

// scanMetadata reads a value of which the metadata counts alone. Webhooks may convert it,
// where the value is of another version.
func (s *objectStorage) scanMetadata(value []byte) (structural.Scan, bool) {
	if _, none := s.version.definition.converter.(conversion.None); !none {
		return s.scan(value)
	}
	return structural.ScanStored(value, anything, false)
}

// anything is a schema that has a place for everything.
var anything = &structural.Schema{Preserve: true}

// text is what a plain JSON string says.
func text(quoted []byte) string {
	if len(quoted) < 2 {
		return ""
	}
	return string(quoted[1 : len(quoted)-1])
}

// scalar decodes a selectable value.
func scalar(value []byte) (v any, ok bool) {
	if len(value) == 0 {
		return nil, true
	}
	return v, kjson.UnmarshalCaseSensitivePreserveInts(value, &v) == nil
}
