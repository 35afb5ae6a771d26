package registry

import (
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

func newScaleCodec() (rest.Codec, error) {
	scheme := runtime.NewScheme()
	if err := autoscalingv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return NewTypedCodec(scheme, scaleKind, CodecOptions{})
}

// formID numbers the wire form of a version in a media type.
func formID(version int, mt wire.MediaType) storage.FormID {
	return storage.FormID(version*4 + int(mt) + 1)
}

// rowForm is the form of a row of a table, of which there is one whatever the
// version, or one a version, with consecutive numbers.
const rowForm storage.FormID = 1 << 15

// version returns the place of a served version among the codecs.
func (s *Store[T]) version(gv schema.GroupVersion) (int, error) {
	for i := range s.codecs {
		if s.codecs[i].gv == gv {
			return i, nil
		}
	}
	return 0, fmt.Errorf("registry: %s is not served in %s", s.kind.Names.Plural, gv)
}
