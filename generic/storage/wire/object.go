package wire

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Marshal encodes an object that has its kind set and no other versions, for example one of meta.k8s.io. Only
// YAML ends with a newline.
func Marshal(obj runtime.Object, mt MediaType) ([]byte, error) {
	switch mt {
	case Protobuf:
		return AppendProtobuf(nil, obj.GetObjectKind().GroupVersionKind(), obj)
	case YAML:
		return yaml.Marshal(obj)
	case CBOR:
		return AppendCBOR(nil, obj)
	}
	return json.Marshal(obj)
}

// MarshalStatus encodes a Status. It sets the kind if that is empty.
func MarshalStatus(status *metav1.Status, mt MediaType) ([]byte, error) {
	if status.Kind == "" {
		status.Kind, status.APIVersion = "Status", "v1"
	}
	return Marshal(status, mt)
}
