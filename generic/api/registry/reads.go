package registry

import (
	"bytes"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

// CheckReads stores the object that fill makes of an empty one, without its defaults and with them, and reports where
// what is read of its bytes differs from what the decoded object has. It is for tests of kinds.
func (s *Store[T]) CheckReads(fill func(runtime.Object)) error {
	obj := s.kind.New()
	fill(obj)
	if err := s.checkStored(obj); err != nil {
		return fmt.Errorf("stored without defaults: %w", err)
	}
	s.form.Codecs()[0].Codec.Default(obj)
	return s.checkStored(obj)
}

func (s *Store[T]) checkStored(obj T) error {
	obj.SetResourceVersion("")
	value, err := s.encodeStored(obj)
	if err != nil {
		return err
	}
	r := storage.NewRecord("", value, 7)
	if obj, err = s.decode(r); err != nil {
		return err
	}
	if got, ok := s.form.Labels(value); ok && !slices.Equal(got, storage.SetOf(obj.GetLabels())) {
		return fmt.Errorf("labels %v, want %v", got, obj.GetLabels())
	}
	if got, ok := s.form.Fields(value); ok && !slices.Equal(got, s.kind.FieldsOf(obj)) {
		return fmt.Errorf("fields %v, want %v", got, s.kind.FieldsOf(obj))
	}
	for version := range s.codecs {
		for _, mt := range []wire.MediaType{wire.JSON, wire.Protobuf} {
			if err := s.checkTranscoded(r, version, mt); err != nil {
				return err
			}
		}
	}
	if cells := s.kind.TableCells(obj, kind.AgeNow); len(cells) < len(s.kind.Columns) {
		return fmt.Errorf("%d cells for %d columns", len(cells), len(s.kind.Columns))
	}
	return nil
}

func (s *Store[T]) checkTranscoded(r *storage.Record, version int, mt wire.MediaType) error {
	got, ok, err := s.form.Transcode(nil, r, version, mt)
	if !ok || err != nil {
		return err
	}
	obj, err := s.versioned(r, version)
	if err != nil {
		return err
	}
	codec := s.codecs[version].Codec
	want, err := codec.Encode(nil, obj, mt)
	if err == nil && mt == wire.Protobuf { // its bytes may have what is empty, and lack the kinds of templates
		got, err = textOf(codec, got)
		if err == nil {
			want, err = textOf(codec, want)
		}
	}
	if err != nil || bytes.Equal(got, want) {
		return err
	}
	same := 0
	for same < min(len(got), len(want)) && got[same] == want[same] {
		same++
	}
	return fmt.Errorf("%s: behind %s\n got %s\nwant %s", s.codecs[version].GV, got[:same], got[same:], want[same:])
}

// textOf returns an object's protobuf as JSON.
func textOf(c rest.Codec, b []byte) ([]byte, error) {
	obj, _, _, err := c.Decode(b, wire.Protobuf, false)
	if err != nil {
		return nil, err
	}
	return c.Encode(nil, obj, wire.JSON)
}
