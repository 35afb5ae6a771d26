package events

import (
	"testing"
	"time"

	"triplane.dev/kubeapi/kindtest"
)

func TestDeclared(t *testing.T) {
	kindtest.Declared(t, eventKind(time.Hour), "events event Event namespaced short=ev")
}

func TestValidation(t *testing.T) {
	kindtest.Refused(t, eventKind(time.Hour), "metadata: {namespace: n}",
		`involvedObject.namespace: Invalid value: "": does not match event.namespace`, "eventTime: Required value",
		`type: Invalid value: "": has invalid value: `)
}
