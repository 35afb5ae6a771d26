package fieldgates

import (
	_ "embed"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// markers are the fields of k8s.io/api's types that belong to feature gates, as the comments of the types say:
// package, type and field, and the gates, of which all are needed. hack/openapi generates the file.
//
//go:embed markers.txt
var markersFile string

// modulePath begins the package paths of the types.
const modulePath = "k8s.io/api/"

// otherwise are the fields whose rule in the table differs from what their markers say, and those that
// belong to no stored object.
var otherwise = []string{
	"core/v1 TypedObjectReference.Namespace",
	"core/v1 PersistentVolumeClaimSpec.VolumeAttributesClassName",
	"core/v1 PersistentVolumeClaimStatus.HealthStatus",
	"core/v1 VolumeProjection.PodCertificate",
	"core/v1 Container.RestartPolicyRules",
	"core/v1 VolumeStatus.Image",
	"core/v1 ContainerStatus.StopSignal",
	"core/v1 EphemeralContainerCommon.ResizePolicy",
	"core/v1 EphemeralContainerCommon.RestartPolicyRules",
	"core/v1 PodLogOptions.Stream",
}

// marker is a line of the file.
type marker struct{ field, gates string }

// markersOf are the markers by type, "core/v1.PodSpec"; they are not to be changed.
var markersOf = sync.OnceValue(func() map[string][]marker {
	all := map[string][]marker{}
	for line := range strings.Lines(markersFile) {
		at, gates, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, gates, _ := strings.Cut(gates, " ")
		if slices.Contains(otherwise, at+" "+name) {
			continue
		}
		of, name, _ := strings.Cut(name, ".")
		all[at+"."+of] = append(all[at+"."+of], marker{name, gates})
	}
	return all
})

// marked are the rules of a struct's fields whose markers name a gate that is off.
func marked(t reflect.Type, enabled func(gate string) bool) []rule {
	pkg, ok := strings.CutPrefix(t.PkgPath(), modulePath)
	if !ok {
		return nil
	}
	var rules []rule
	for _, m := range markersOf()[pkg+"."+t.Name()] {
		f, ok := t.FieldByName(m.field)
		if ok && !allOn(m.gates, enabled) {
			rules = append(rules, fieldAt(m.gates, t, f.Index))
		}
	}
	return rules
}

func allOn(gates string, enabled func(gate string) bool) bool {
	for gate := range strings.SplitSeq(gates, ",") {
		if !enabled(gate) {
			return false
		}
	}
	return true
}

// fieldAt is the rule that a field of a struct belongs to gates.
func fieldAt(gates string, t reflect.Type, index []int) rule {
	at := func(pointer any) reflect.Value { return reflect.ValueOf(pointer).Elem().FieldByIndex(index) }
	return rule{gate: gates, of: t,
		used: func(pointer any) bool { return !at(pointer).IsZero() },
		drop: func(pointer any) { at(pointer).SetZero() }}
}
