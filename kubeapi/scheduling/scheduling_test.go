package scheduling

import (
	"context"
	"testing"

	"triplane.dev/kubeapi/kindtest"
)

func TestPriorityClass(t *testing.T) {
	k := priorityClassKind()
	kindtest.Declared(t, k, "priorityclasses priorityclass PriorityClass cluster short=pc")
	for _, c := range SystemClasses() {
		if errs := k.Write.Validate(context.Background(), c, nil); len(errs) > 0 {
			t.Errorf("%s: %v", c.Name, errs)
		}
	}
	kindtest.Refused(t, k, "metadata: {name: a}\nvalue: 1000000001", "value: Forbidden: maximum allowed value of a user defined priority is 1000000000")
	kindtest.UpdateRefused(t, k, "value: 1", "value: 2", "value: Forbidden: may not be changed in an update.")
}
