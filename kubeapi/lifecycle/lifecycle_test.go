package lifecycle

import (
	"testing"

	"triplane.dev/kubeapi/kindtest"
)

func TestDeclared(t *testing.T) {
	kindtest.Declared(t, evictionKind(), "evictions eviction Eviction namespaced status")
	kindtest.Declared(t, evictionRequestKind(), "evictionrequests evictionrequest EvictionRequest namespaced status")
}
