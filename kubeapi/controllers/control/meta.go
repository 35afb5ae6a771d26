package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"triplane.dev/generic/storage/wire"
)

// Meta is the metadata that controllers read of objects of any kind.
type Meta struct {
	APIVersion, Kind string
	Namespace, Name  string
	UID              types.UID
	// Deleting is true if the object has a deletion timestamp.
	Deleting   bool
	Finalizers []string
	Owners     []metav1.OwnerReference
}

// Field numbers of ObjectMeta in protobuf, in addition to those of package wire.
const (
	metaDeletionTimestamp = 9
	metaOwnerReferences   = 13
	metaFinalizers        = 14
)

// ReadMeta decodes only the metadata of a stored object.
func ReadMeta(value []byte) (Meta, error) {
	if wire.IsProtobuf(value) {
		return readProtobuf(value)
	}
	var o struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Namespace         string                  `json:"namespace"`
			Name              string                  `json:"name"`
			UID               types.UID               `json:"uid"`
			DeletionTimestamp *string                 `json:"deletionTimestamp"`
			Finalizers        []string                `json:"finalizers"`
			OwnerReferences   []metav1.OwnerReference `json:"ownerReferences"`
		} `json:"metadata"`
	}
	text, err := wire.StoredText(value)
	if err != nil {
		return Meta{}, err
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return Meta{}, err
	}
	m := &o.Metadata
	return Meta{
		APIVersion: o.APIVersion, Kind: o.Kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID,
		Deleting: m.DeletionTimestamp != nil, Finalizers: m.Finalizers, Owners: m.OwnerReferences,
	}, nil
}

func readProtobuf(value []byte) (Meta, error) {
	e, ok := wire.OpenEnvelope(value)
	if !ok {
		return Meta{}, wire.ErrNotProtobuf
	}
	m := Meta{APIVersion: string(e.APIVersion), Kind: string(e.Kind)}
	meta, ok := wire.OnlyField(e.Object, wire.ObjectMetadata)
	if !ok {
		return m, fmt.Errorf("%s without metadata", m.Kind)
	}
	for i := 0; i < len(meta.Payload); {
		f, ok := wire.NextField(meta.Payload, i)
		if !ok {
			return m, wire.ErrNotProtobuf
		}
		i = f.End
		switch f.Number {
		case wire.MetaName:
			m.Name = string(f.Payload)
		case wire.MetaNamespace:
			m.Namespace = string(f.Payload)
		case wire.MetaUID:
			m.UID = types.UID(f.Payload)
		case metaDeletionTimestamp:
			m.Deleting = true
		case metaFinalizers:
			m.Finalizers = append(m.Finalizers, string(f.Payload))
		case metaOwnerReferences:
			var owner metav1.OwnerReference
			if err := owner.Unmarshal(f.Payload); err != nil {
				return m, err
			}
			m.Owners = append(m.Owners, owner)
		}
	}
	return m, nil
}

// An object without these texts has neither owners nor a deletion timestamp.
var (
	relatedJSON = [][]byte{[]byte(`"ownerReferences"`), []byte(`"deletionTimestamp"`)}
	relatedYAML = [][]byte{[]byte("ownerReferences:"), []byte("deletionTimestamp:")}
)

// Related reports whether a stored object may have owners or a deletion timestamp. It is cheap, and may return
// true for an object that only contains these texts.
func Related(value []byte) bool {
	if !wire.IsProtobuf(value) {
		texts := relatedYAML
		if bytes.HasPrefix(value, []byte("{")) {
			value, texts = wire.MemberOf(value, "metadata"), relatedJSON
		}
		return slices.ContainsFunc(texts, func(text []byte) bool { return bytes.Contains(value, text) })
	}
	e, ok := wire.OpenEnvelope(value)
	if !ok {
		return false
	}
	meta, ok := wire.OnlyField(e.Object, wire.ObjectMetadata)
	for i := 0; ok && i < len(meta.Payload); {
		var f wire.Field
		if f, ok = wire.NextField(meta.Payload, i); f.Number == metaOwnerReferences ||
			f.Number == metaDeletionTimestamp {
			return ok
		}
		i = f.End
	}
	return false
}
