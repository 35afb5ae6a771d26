package controllers

import (
	"strings"
	"testing"
)

func TestSelection(t *testing.T) {
	const gc, ns = "garbage-collector-controller", "namespace-controller"
	for _, c := range []struct {
		flag   string
		gc, ns bool
	}{
		{"*", true, true},
		{"*,-" + gc, false, true},
		{ns, false, true},
		{"-" + gc + ",*", false, true},
		{gc + ",-" + gc, true, false}, // the first counts
		{"none", false, false},
		{"", false, false},
	} {
		selection := strings.Split(c.flag, ",")
		if c.flag == "" {
			selection = nil
		}
		if err := ValidateSelection(selection); err != nil {
			t.Errorf("%q: %v", c.flag, err)
		}
		if selected(selection, gc) != c.gc || selected(selection, ns) != c.ns || Selects(selection) != (c.gc || c.ns) {
			t.Errorf("%q selects %v %v", c.flag, selected(selection, gc), selected(selection, ns))
		}
	}
	for _, wrong := range []string{"nobody", "-nobody", "*,none"} {
		if ValidateSelection(strings.Split(wrong, ",")) == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}
