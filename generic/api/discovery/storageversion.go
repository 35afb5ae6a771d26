package discovery

import (
	"crypto/sha256"
	"encoding/base64"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// StorageVersionHash identifies the kind that storage holds, so that clients of
// APIResource see when it changes.
func StorageVersionHash(kind schema.GroupVersionKind) string {
	sum := sha256.Sum256([]byte(kind.Group + "/" + kind.Version + "/" + kind.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
