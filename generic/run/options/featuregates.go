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

// gateTable lists kube-apiserver's feature gates and what they do here.
//
//go:embed featuregates.md
var gateTable string

// removedTable lists gates of former releases of Kubernetes whose features are
// always on, or gone.
//
//go:embed removedgates.txt
var removedTable string

const (
	// GateCBOR lets objects travel as CBOR.
	GateCBOR = "CBORServingAndStorage"
	// GateUnreadDeletion lets objects be deleted that cannot be read from storage.
	GateUnreadDeletion = "AllowUnsafeMalformedObjectDeletion"
)

// gate is a row of the table.
type gate struct {
	name  featuregate.Feature
	specs featuregate.VersionedSpecs // none for AllAlpha and AllBeta, which the library knows
	needs []featuregate.Feature
	here  gateEffect
}

// gateEffect is what a gate does here.
type gateEffect string

const (
	followed  gateEffect = "followed"  // it changes what the server does
	elsewhere gateEffect = "elsewhere" // it concerns other components
	fixed     gateEffect = "fixed"     // the server does the same, whatever it says
)

// FollowedGates returns the gates that change something here, in order of their names.
func FollowedGates() []string {
	var names []string
	for _, g := range gates() {
		if g.here == followed {
			names = append(names, string(g.name))
		}
	}
	return names
}

// gates is the table; it is not to be changed.
var gates = sync.OnceValue(func() []gate {
	var all []gate
	_, rows, _ := strings.Cut(gateTable, "| --- |")
	_, rows, _ = strings.Cut(rows, "\n")
	for row := range strings.Lines(rows) {
		g, err := parseGate(row)
		if err != nil {
			panic("options: featuregates.md: " + err.Error()) // a test reads it
		}
		all = append(all, g)
	}
	return all
})

func parseGate(row string) (gate, error) {
	cells := strings.Split(strings.TrimSpace(row), "|")
	if len(cells) != 6 {
		return gate{}, fmt.Errorf("%q has not 4 cells", row)
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	effect, _, _ := strings.Cut(cells[4], ":")
	g := gate{name: featuregate.Feature(cells[1]), here: gateEffect(effect)}
	for stage := range listed(cells[2]) {
		spec, err := parseStage(stage)
		if err != nil {
			return gate{}, fmt.Errorf("%s: %w", g.name, err)
		}
		g.specs = append(g.specs, spec)
	}
	for need := range listed(cells[3]) {
		g.needs = append(g.needs, featuregate.Feature(need))
	}
	return g, nil
}

// listed are the parts of a list, of which an empty text has none.
func listed(text string) func(yield func(string) bool) {
	if text == "" {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(text, ", ")
}

// parseStage reads "1.34 GA on locked".
func parseStage(text string) (featuregate.FeatureSpec, error) {
	f := strings.Fields(text)
	if len(f) < 3 {
		return featuregate.FeatureSpec{}, fmt.Errorf("%q is no stage", text)
	}
	from, err := version.ParseMajorMinor(f[0])
	spec := featuregate.FeatureSpec{Version: from, Default: f[2] == "on", LockToDefault: slices.Contains(f[3:], "locked")}
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
		err = fmt.Errorf("%q is no stage", text)
	}
	return spec, err
}

// newGates returns all gates at their defaults in the release that is served.
func newGates(release *version.Version) (featuregate.MutableVersionedFeatureGate, error) {
	specs, needs := map[featuregate.Feature]featuregate.VersionedSpecs{}, map[featuregate.Feature][]featuregate.Feature{}
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
