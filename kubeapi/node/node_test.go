package node

import (
	"strings"
	"testing"

	"triplane.dev/kubeapi/kindtest"
)

func TestRuntimeClass(t *testing.T) {
	k := runtimeClassKind(false)
	kindtest.Declared(t, k, "runtimeclasses runtimeclass RuntimeClass cluster")
	kindtest.UpdateRefused(t, k, "handler: a", "handler: b", `handler: Invalid value: null: field is immutable`)
	long := strings.Repeat("a", 64)
	kindtest.Refused(t, k, "handler: "+long, `handler: Invalid value: "`+long+`": must be no more than 63 bytes`)
	kindtest.Refused(t, k, "overhead: {podFixed: {cpu: -1}}", `overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0`,
		"handler: Required value")
	kindtest.UpdateRefused(t, k, "handler: a", "handler: "+long, `handler: Invalid value: "`+long+`": must be no more than 63 characters`,
		`handler: Invalid value: null: field is immutable`)
}
