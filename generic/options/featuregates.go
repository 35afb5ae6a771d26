package options

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// gateTable lists kube-apiserver's feature gates: name, stage and default.
//
//go:embed featuregates.txt
var gateTable string

// removedTable lists gates of former releases of Kubernetes whose features are
// always on, or gone.
//
//go:embed removedgates.txt
var removedTable string

// followedTable is the list of gates that the code asks for, which a test compares
// with the code.
//
//go:embed followedgates.txt
var followedTable string

// gate is what is known of a feature gate.
type gate struct {
	stage string // ALPHA, BETA
	on    bool   // by default
}

const (
	gateAllAlpha = "AllAlpha"
	gateAllBeta  = "AllBeta"
	// GateCBOR lets objects travel as CBOR.
	GateCBOR = "CBORServingAndStorage"
	// GateUnreadDeletion lets objects be deleted that cannot be read from storage.
	GateUnreadDeletion = "AllowUnsafeMalformedObjectDeletion"
)

// followed are the gates that change something here, followedgates.txt their names. What
// the others guard is either there as it is by default, or concerns other components.
var followed = sync.OnceValue(func() []string { return strings.Fields(followedTable) })

// FollowedGates returns the gates that change something here, in order of their names.
func FollowedGates() []string { return slices.Clone(followed()) }

// FeatureGates is the value of --feature-gates: [component:]name=true|false,
// comma separated; only the component kube is here.
type FeatureGates struct {
	set     map[string]bool
	removed []string // set, and only known of former releases
}

var _ pflag.Value = (*FeatureGates)(nil)

// Set implements pflag.Value. Later settings win.
func (g *FeatureGates) Set(list string) error {
	known := gates()
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		name, value, ok := strings.Cut(item, "=")
		if !ok {
			return fmt.Errorf("missing bool value for %s", item)
		}
		if component, rest, ok := strings.Cut(name, ":"); ok {
			if component != "kube" {
				return fmt.Errorf("component not registered: %s", component)
			}
			name = rest
		}
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("invalid value of %s=%s, err: %w", name, value, err)
		}
		name = strings.TrimSpace(name)
		_, ok = known[name]
		if !ok && slices.Contains(strings.Fields(removedTable), name) {
			g.removed = append(g.removed, name)
			continue
		}
		if !ok {
			return fmt.Errorf("unrecognized feature gate: %s", name)
		}
		if g.set == nil {
			g.set = map[string]bool{}
		}
		g.set[name] = on
	}
	return nil
}

// String implements pflag.Value.
func (g *FeatureGates) String() string {
	var items []string
	for name, on := range g.set {
		items = append(items, fmt.Sprintf("%s=%t", name, on))
	}
	slices.Sort(items)
	return strings.Join(items, ",")
}

// Type implements pflag.Value.
func (g *FeatureGates) Type() string { return "colonSeparatedMultimapStringString" }

// Enabled reports whether a gate is on: as set itself, or all of its stage, or by
// default.
func (g *FeatureGates) Enabled(name string) bool {
	if on, ok := g.set[name]; ok {
		return on
	}
	known := gates()[name]
	all := gateAllBeta
	if known.stage == "ALPHA" {
		all = gateAllAlpha
	}
	if on, ok := g.set[all]; ok {
		return on
	}
	return known.on
}

// Stages are the stages of all gates that are known.
func (g *FeatureGates) Stages() map[string]string {
	stages := map[string]string{}
	for name, known := range gates() {
		stages[name] = known.stage
	}
	return stages
}

// warn logs gates that were set and change nothing.
func (g *FeatureGates) warn() {
	known := gates()
	for _, name := range g.removed {
		klog.InfoS("A feature gate was removed from Kubernetes; setting it changes nothing", "gate", name)
	}
	for name, on := range g.set {
		if !slices.Contains(followed(), name) && on != known[name].on {
			klog.InfoS("A feature gate is not followed", "gate", name, "stays", known[name].on)
		}
	}
}

// gates is the table; it is not to be changed.
var gates = sync.OnceValue(func() map[string]gate {
	all := map[string]gate{}
	for line := range strings.Lines(gateTable) {
		if f := strings.Fields(line); len(f) == 3 {
			all[f[0]] = gate{stage: f[1], on: f[2] == "true"}
		}
	}
	return all
})
