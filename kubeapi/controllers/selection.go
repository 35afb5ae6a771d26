package controllers

import (
	"fmt"
	"slices"
	"strings"
)

// Everything selects the controllers that are enabled by default. None, or an empty selection, selects none.
const (
	Everything = "*"
	None       = "none"
)

// Names returns the names of all controllers, sorted.
func Names() []string {
	var names []string
	for _, c := range table() {
		names = append(names, c.name)
	}
	slices.Sort(names)
	return names
}

// ValidateSelection returns an error for an unknown controller.
func ValidateSelection(selection []string) error {
	known := Names()
	for _, s := range selection {
		name := strings.TrimPrefix(s, "-")
		if s == Everything || s == None && len(selection) == 1 || slices.Contains(known, name) {
			continue
		}
		return fmt.Errorf("--controllers: unknown controller %q; available: %s", name, strings.Join(known, ", "))
	}
	return nil
}

// selected reports whether a controller is enabled: by name, or by "*" without "-NAME". The first entry for a name
// takes precedence.
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

// Selects reports whether any controller is enabled.
func Selects(selection []string) bool {
	return slices.ContainsFunc(Names(), func(name string) bool { return selected(selection, name) })
}
