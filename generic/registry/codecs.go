package registry

import (
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/registry/rest"
	"triplane/generic/storage"
	"triplane/generic/wire"
)

// makeCodecs makes the codecs of all served versions, hub first, and that of
// storage.
func (s *Store[T]) makeCodecs(scheme *runtime.Scheme) error {
	k := s.kind
	if err := s.makeScaleCodec(); err != nil {
		return err
	}
	if k.CodecFor != nil {
		return s.takeCodecs()
	}
	options := CodecOptions{
		New:     func() runtime.Object { return k.New() },
		Default: s.defaultHub,
	}
	if k.Readable != nil {
		options.ToHub = func(obj runtime.Object) (runtime.Object, error) {
			if t, ok := obj.(T); ok {
				return obj, k.Readable(t)
			}
			return obj, nil
		}
	}
	hub, err := NewTypedCodec(scheme, k.Hub, options)
	if err != nil {
		return err
	}
	s.codecs = append(s.codecs, versionCodec{gv: k.Hub.GroupVersion(), codec: hub, hub: true, typeMeta: wire.TypeMetaPrefix(k.Hub)})
	for i := range k.Versions {
		codec, err := versionedCodec(scheme, &k.Versions[i])
		if err != nil {
			return err
		}
		s.codecs = append(s.codecs, versionCodec{gv: k.Versions[i].Kind.GroupVersion(), codec: codec, typeMeta: wire.TypeMetaPrefix(k.Versions[i].Kind)})
	}
	if s.storage = k.Storage; s.storage == nil {
		s.storage, err = newTypedStorage(s.codecs, s.StorageVersion(), k.StoreAsJSON)
	}
	return err
}

// takeCodecs asks the kind for the codecs of all its versions.
func (s *Store[T]) takeCodecs() error {
	k := s.kind
	if s.storage = k.Storage; s.storage == nil {
		return fmt.Errorf("registry: kind %s brings codecs, but not that of storage", k.Hub)
	}
	versions := []schema.GroupVersion{k.Hub.GroupVersion()}
	for i := range k.Versions {
		versions = append(versions, k.Versions[i].Kind.GroupVersion())
	}
	for i, gv := range append(versions, k.ServedVersions...) {
		codec, err := k.CodecFor(gv)
		if err != nil {
			return err
		}
		s.codecs = append(s.codecs, versionCodec{gv: gv, codec: codec, hub: i == 0})
	}
	return nil
}

func (s *Store[T]) makeScaleCodec() error {
	if s.kind.Scale == nil {
		return nil
	}
	scheme := runtime.NewScheme()
	if err := autoscalingv1.AddToScheme(scheme); err != nil {
		return err
	}
	var err error
	s.scale, err = NewTypedCodec(scheme, scaleKind, CodecOptions{})
	return err
}

func (s *Store[T]) defaultHub(obj runtime.Object) {
	if t, ok := obj.(T); ok && s.kind.Default != nil {
		s.kind.Default(t)
	}
}

// versionedCodec is the codec of another version than the hub.
func versionedCodec[T Object](scheme *runtime.Scheme, v *Version[T]) (rest.Codec, error) {
	return NewTypedCodec(scheme, v.Kind, CodecOptions{
		New:     v.New,
		Default: v.Default,
		ToHub:   func(obj runtime.Object) (runtime.Object, error) { return v.ToHub(obj) },
		FromHub: func(obj runtime.Object) (runtime.Object, error) {
			t, ok := obj.(T)
			if !ok {
				return nil, fmt.Errorf("registry: %T is not what %s is kept as", obj, v.Kind)
			}
			return v.FromHub(t)
		},
	})
}

// form numbers the wire form of a version in a media type.
func form(version int, mt wire.MediaType) storage.FormID {
	return storage.FormID(version*4 + int(mt) + 1)
}

// rowForm is the form of a row of a table, of which there is one whatever the
// version.
const rowForm storage.FormID = 1 << 15

// version returns the place of a served version among the codecs.
func (s *Store[T]) version(gv schema.GroupVersion) (int, error) {
	for i := range s.codecs {
		if s.codecs[i].gv == gv {
			return i, nil
		}
	}
	return 0, fmt.Errorf("registry: %s is not served in %s", s.kind.Plural, gv)
}
