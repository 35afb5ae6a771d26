package kind

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

// Unstructured represents objects that are trees of JSON values: custom resources. Their metadata is validated as a
// whole at creation, and by its change at updates; finalizers may have any name.
type Unstructured struct {
	// Storage is how objects are kept: as JSON of the hub version.
	Storage UnstructuredStorage
	// Codec returns the codec of a served version.
	Codec func(gv schema.GroupVersion) (rest.Codec, error)
	// Versions are the served versions beside the hub's.
	Versions []schema.GroupVersion
	// Prepare, where set, runs change on an object of the hub version and on what it
	// replaces (nil for a new one), or on both in the version of the request: conversion
	// from there may add what change resets. obj is the object of the hub afterwards.
	Prepare func(ctx context.Context, obj, old *unstructured.Unstructured,
		change func(obj, old *unstructured.Unstructured)) error
}

var _ Representation[*unstructured.Unstructured] = (*Unstructured)(nil)

// trees is an Unstructured at work.
type trees struct {
	kind      schema.GroupVersionKind
	storage   UnstructuredStorage
	versions  []VersionCodec
	inRequest func(ctx context.Context, obj, old *unstructured.Unstructured,
		change func(obj, old *unstructured.Unstructured)) error
}

// Open implements Representation.
func (u *Unstructured) Open(k *Kind[*unstructured.Unstructured], _ *runtime.Scheme,
	_ StorageOptions) (Form[*unstructured.Unstructured], error) {
	f := &trees{kind: k.Hub, storage: u.Storage, inRequest: u.Prepare}
	for i, gv := range append([]schema.GroupVersion{k.Hub.GroupVersion()}, u.Versions...) {
		codec, err := u.Codec(gv)
		if err != nil {
			return nil, err
		}
		f.versions = append(f.versions, VersionCodec{GV: gv, Codec: codec, Hub: i == 0})
	}
	return f, nil
}

func (f *trees) Codecs() []VersionCodec { return f.versions }

func (f *trees) StoredAs() schema.GroupVersionKind { return f.kind }

func (f *trees) EncodeStored(obj *unstructured.Unstructured) ([]byte, error) {
	return f.storage.EncodeStored(obj)
}

func (f *trees) DecodeStored(value []byte) (*unstructured.Unstructured, error) {
	obj, err := f.storage.DecodeStored(value)
	if err != nil {
		return nil, err
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, NotOfKind(obj, f.kind)
	}
	return u, nil
}

func (f *trees) Transcode(dst []byte, r *storage.Record, version int, mt wire.MediaType) ([]byte, bool, error) {
	return f.storage.Transcode(dst, r.Value(), storage.FormatRevision(r.Revision), f.versions[version].GV, mt)
}

// Metadata returns false: rows of custom resources are made of the stored bytes.
func (f *trees) Metadata(*storage.Record) (json []byte, ok bool) { return nil, false }

// FromStored is true: a reader of storage sees the object pruned and defaulted by the schema.
func (f *trees) FromStored() bool { return true }

func (f *trees) Labels(value []byte) (storage.Set, bool) { return f.storage.StoredLabels(value) }

func (f *trees) Fields(value []byte) (storage.Set, bool) { return f.storage.StoredFields(value) }

func (f *trees) AsStored(obj *unstructured.Unstructured) { f.storage.AsStored(obj) }

func (f *trees) Prepare(ctx context.Context, obj, old *unstructured.Unstructured,
	change func(obj, old *unstructured.Unstructured)) error {
	if f.inRequest != nil {
		return f.inRequest(ctx, obj, old, change)
	}
	change(obj, old)
	return nil
}

func (f *trees) CompleteBookmark(*unstructured.Unstructured) {}

func (f *trees) MetadataRules() MetadataRules {
	return MetadataRules{OnUpdate: MetadataChange, OnStatus: MetadataChange, AnyFinalizer: true}
}
