package controllers

import (
	"fmt"
	"slices"
	"strings"
)

// Everything selects the controllers that are on by default; None, or nothing,
// selects none.
const (
	Everything = "*"
	None       = "none"
)

// Names are those of all controllers, sorted.
func Names() []string {
	var names []string
	for _, c := range table() {
		names = append(names, c.name)
	}
	slices.Sort(names)
	return names
}

// ValidateSelection returns an error for a name that no controller has.
func ValidateSelection(selection []string) error {
	known := Names()
	for _, s := range selection {
		name := strings.TrimPrefix(s, "-")
		if s == Everything || s == None && len(selection) == 1 || slices.Contains(known, name) {
			continue
		}
		return fmt.Errorf("--controllers: there is no controller %q; there are %s", name, strings.Join(known, ", "))
	}
	return nil
}

// selected reports whether a controller is to run: it is named, or "*" is and it is
// not taken out by "-NAME". Of several entries for a name the first counts.
func selected(selection []string, name string) bool {
	for _, s := range selection {
		switch s {
		case name:
			return true
		case "-" + name:
			return false
		}
	}
	return slices.Contains(selection, Everything)
}

// Selects reports whether any controller is to run.
func Selects(selection []string) bool {
	return slices.ContainsFunc(Names(), func(name string) bool { return selected(selection, name) })
}
