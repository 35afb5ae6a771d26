package options

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
)

// gateTable lists kube-apiserver's feature gates and their effect here.
//
//go:embed featuregates.md
var gateTable string

// removedTable lists feature gates that newer releases of Kubernetes have removed.
//
//go:embed removedgates.txt
var removedTable string

const (
	// GateCBOR enables CBOR.
	GateCBOR = "CBORServingAndStorage"
	// GateUnreadDeletion enables deletion of objects that cannot be decoded.
	GateUnreadDeletion = "AllowUnsafeMalformedObjectDeletion"
)

// gate is a row of the table.
type gate struct {
	name  featuregate.Feature
	specs featuregate.VersionedSpecs // none for AllAlpha and AllBeta, which the library defines
	needs []featuregate.Feature
	here  gateEffect
}

// gateEffect is the effect of a gate here.
type gateEffect string

const (
	followed  gateEffect = "followed"  // changes what the server does
	elsewhere gateEffect = "elsewhere" // concerns other components
	fixed     gateEffect = "fixed"     // is ignored: the server behaves as with the default
)

// FollowedGates returns the gates that have an effect here, sorted by name.
func FollowedGates() []string {
	var names []string
	for _, g := range gates() {
		if g.here == followed {
			names = append(names, string(g.name))
		}
	}
	return names
}

// gates returns the table, which callers must not change.
var gates = sync.OnceValue(func() []gate {
	var all []gate
	_, rows, _ := strings.Cut(gateTable, "| --- |")
	_, rows, _ = strings.Cut(rows, "\n")
	for row := range strings.Lines(rows) {
		g, err := parseGate(row)
		if err != nil {
			panic("options: featuregates.md: " + err.Error()) // covered by a test
		}
		all = append(all, g)
	}
	return all
})

func parseGate(row string) (gate, error) {
	cells := strings.Split(strings.TrimSpace(row), "|")
	if len(cells) != 6 {
		return gate{}, fmt.Errorf("%q does not have 4 cells", row)
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	effect, _, _ := strings.Cut(cells[4], ":")
	g := gate{name: featuregate.Feature(cells[1]), here: gateEffect(effect)}
	for stage := range listItems(cells[2]) {
		spec, err := parseStage(stage)
		if err != nil {
			return gate{}, fmt.Errorf("%s: %w", g.name, err)
		}
		g.specs = append(g.specs, spec)
	}
	for need := range listItems(cells[3]) {
		g.needs = append(g.needs, featuregate.Feature(need))
	}
	return g, nil
}

// listItems returns the items of a list; none for an empty text.
func listItems(text string) func(yield func(string) bool) {
	if text == "" {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(text, ", ")
}

// parseStage parses "1.34 GA on locked".
func parseStage(text string) (featuregate.FeatureSpec, error) {
	f := strings.Fields(text)
	if len(f) < 3 {
		return featuregate.FeatureSpec{}, fmt.Errorf("%q is not a stage", text)
	}
	from, err := version.ParseMajorMinor(f[0])
	spec := featuregate.FeatureSpec{Version: from, Default: f[2] == "on",
		LockToDefault: slices.Contains(f[3:], "locked")}
	switch f[1] {
	case "alpha":
		spec.PreRelease = featuregate.Alpha
	case "beta":
		spec.PreRelease = featuregate.Beta
	case "GA":
		spec.PreRelease = featuregate.GA
	case "deprecated":
		spec.PreRelease = featuregate.Deprecated
	default:
		err = fmt.Errorf("%q is not a stage", text)
	}
	return spec, err
}

// newGates returns all gates with their defaults in the emulated release.
func newGates(release *version.Version) (featuregate.MutableVersionedFeatureGate, error) {
	specs, needs := map[featuregate.Feature]featuregate.VersionedSpecs{},
		map[featuregate.Feature][]featuregate.Feature{}
	for _, g := range gates() {
		if g.specs != nil {
			specs[g.name] = g.specs
		}
		if g.needs != nil {
			needs[g.name] = slices.Clone(g.needs)
		}
	}
	known := featuregate.NewVersionedFeatureGate(release)
	if err := known.AddVersioned(specs); err != nil {
		return nil, err
	}
	return known, known.AddDependencies(needs)
}
