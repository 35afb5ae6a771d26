package console

import (
	"testing"

	"github.com/chromedp/chromedp"

	"triplane.dev/console"
)

const largeInteger = "9007199254740993" // is 9007199254740992 as a number of JavaScript

// The editor shows and writes an integer that a number of the browser cannot hold.
func TestLargeIntegers(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.KubectlIn(t, `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"large"},"spec":{"driver":"d.example.com","nodeName":"n",
"pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[{"name":"d","attributes":{"serial":{"int":`+largeInteger+`}}}]}}`, "create", "-f", "-")
	b := open(t)
	b.do(t, visit(address(s)+console.Path, signIn("admin-token")), reads(".user", "boss"),
		show("#/o/resource.k8s.io/v1/resourceslices/-/large"),
		until(`document.querySelector('.editor textarea')?.value.includes(%q)`, "int: "+largeInteger),
		chromedp.Click("#save"), reads(".result", "Written"))
	b.quiet(t)
	if got := s.Kubectl(t, "get", "resourceslice", "large", "-o",
		"jsonpath={.spec.devices[0].attributes.serial.int}"); got != largeInteger {
		t.Errorf("the editor wrote %s, want %s", got, largeInteger)
	}
}
