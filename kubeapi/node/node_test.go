package node

import (
	"testing"

	"triplane.dev/kubeapi/kindtest"
)

func TestRuntimeClass(t *testing.T) {
	k := runtimeClassKind(false)
	kindtest.Declared(t, k, "runtimeclasses runtimeclass RuntimeClass cluster")
	kindtest.UpdateRefused(t, k, "handler: a", "handler: b", `handler: Invalid value: null: field is immutable`)
}
