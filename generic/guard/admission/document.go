package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"triplane.dev/generic/storage/object"
	"triplane.dev/generic/storage/wire"
)

// Document encodes an object as JSON with apiVersion and kind.
func Document(obj runtime.Object, kind schema.GroupVersionKind) ([]byte, error) {
	text, err := json.Marshal(obj)
	if err != nil || kind.Empty() || !obj.GetObjectKind().GroupVersionKind().Empty() {
		return text, err
	}
	if !object.Typed(obj) {
		return text, nil
	}
	head, err := json.Marshal(struct {
		Kind       string `json:"kind"`
		APIVersion string `json:"apiVersion"`
	}{kind.Kind, kind.GroupVersion().String()})
	if err != nil {
		return nil, err
	}
	if bytes.Equal(text, []byte("{}")) {
		return head, nil
	}
	return append(append(head[:len(head)-1], ','), text[1:]...), nil
}

// FromDocument decodes JSON of the codec's version and applies its defaults. The result has a kind only if like
// has one.
func FromDocument(codec Converter, text []byte, like runtime.Object) (runtime.Object, error) {
	if err := wire.CheckDepth(text); err != nil {
		return nil, err
	}
	obj := codec.New()
	if u, ok := obj.(interface{ UnmarshalJSON(b []byte) error }); ok {
		if err := u.UnmarshalJSON(text); err != nil {
			return nil, err
		}
	} else if err := kjson.UnmarshalCaseSensitivePreserveInts(text, obj); err != nil {
		return nil, err
	}
	takeKind(obj, like)
	codec.Default(obj)
	return obj, nil
}

// takeKind gives an object of a Go type the kind that like has, which may be none.
func takeKind(obj, like runtime.Object) {
	if object.Typed(obj) && like != nil {
		obj.GetObjectKind().SetGroupVersionKind(like.GetObjectKind().GroupVersionKind())
	}
}

// ConverterOf returns the converter for a changed document of the version of codec. Its apiVersion may differ from that
// of the document before, its kind may not. Absent fields count as unchanged.
func (a *Attributes) ConverterOf(codec Converter, before, after []byte) (Converter, error) {
	var was, is metav1.TypeMeta
	if err := errors.Join(json.Unmarshal(before, &was), json.Unmarshal(after, &is)); err != nil {
		return nil, err
	}
	sameKind := is.Kind == "" || is.Kind == was.Kind
	if sameKind && (is.APIVersion == "" || is.APIVersion == was.APIVersion) {
		return codec, nil
	}
	if gvk := is.GroupVersionKind(); sameKind && a.Versions != nil {
		if other, err := a.Versions.Converter(gvk.GroupVersion()); err == nil && other.Kind() == gvk {
			return other, nil
		}
	}
	return nil, fmt.Errorf("attempted to change the kind of the object from %s to %s", was.GroupVersionKind(),
		is.GroupVersionKind())
}

// Become replaces the object's content by a JSON document of the codec's version, and reports whether this
// changed the object. shown is the object in the version that the document was made from: a document that equals it
// changes nothing, so that fields which the version lacks are kept.
func (a *Attributes) Become(codec Converter, shown runtime.Object, text []byte) (changed bool, err error) {
	obj, err := FromDocument(codec, text, shown)
	if err != nil {
		return false, err
	}
	if same(codec, shown, obj) {
		return false, nil
	}
	takeKind(obj, a.Object)
	if obj, err = codec.ToHub(obj); err != nil {
		return false, err
	}
	if equality.Semantic.DeepEqual(a.Object, obj) {
		return false, nil
	}
	return true, a.Replace(obj)
}

// same reports whether an object that was decoded from a document has the content of shown. The document has times in
// seconds.
func same(codec Converter, shown, obj runtime.Object) bool {
	if equality.Semantic.DeepEqual(shown, obj) {
		return true
	}
	if !object.Typed(shown) {
		return false
	}
	text, err := json.Marshal(shown)
	if err != nil {
		return false
	}
	again, err := FromDocument(codec, text, shown)
	return err == nil && equality.Semantic.DeepEqual(again, obj)
}
