package resource

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestSelectors(t *testing.T) {
	loops := "a > 0"
	for _, v := range "abcdef" {
		loops = "[1,2,3,4,5,6,7,8,9,10].all(" + string(v) + ", " + loops + ")"
	}
	for source, want := range map[string]string{
		`device.driver == "gpu.example.com"`:                                             "",
		`device.attributes["gpu.example.com"].model == "a"`:                              "",
		`device.attributes["gpu.example.com"].shared`:                                    "",
		`device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("10Gi"))`:      "",
		`cel.bind(d, device.attributes["gpu.example.com"], has(d.model) && d.model > 3)`: "",
		`"gpu.example.com" in device.attributes && device.allowMultipleAllocations`:      "",
		`device.driver`:      "must evaluate to bool or the unknown type, not string",
		`device.other == 1`:  "undefined field 'other'",
		`object.metadata`:    "undeclared reference to 'object'",
		`device.driver ==`:   "compilation failed: ERROR: <input>:1:17: Syntax error",
		loops:                "too complex, exceeds cost limit",
		`device == {'a': 1}`: "found no matching overload",
	} {
		t.Run(source, func(t *testing.T) {
			err := validateSelector(source, field.NewPath("e"))
			if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}
