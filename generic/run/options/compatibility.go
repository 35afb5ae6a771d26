package options

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"

	"triplane/generic/serve/server"
)

// The releases that the server can be like: its own, and three before.
const (
	servedVersion = "1.36"
	oldestVersion = "1.33"
)

// Compatibility is which release of Kubernetes the server is like, and which
// features of it are on. Get one from NewCompatibility. Its flags mean nothing
// until all are set: the first question settles them.
type Compatibility struct {
	// ForwardCompatible serves versions of an API that came after the emulated
	// release beside those that it had.
	ForwardCompatible bool
	// RuntimeConfigForwardCompatible serves what --runtime-config names though it
	// came after the emulated release, rather than refuse it.
	RuntimeConfigForwardCompatible bool

	registry compatibility.ComponentGlobalsRegistry
	version  compatibility.MutableEffectiveVersion
	gates    featuregate.MutableVersionedFeatureGate
	flags    *pflag.FlagSet // the registry's
	removed  []string       // gates that were set, and only former releases know
	settle   func() error
	validate func() []error // once: what is not supported is said in the log
}

// NewCompatibility returns the defaults: the present release, with its features.
func NewCompatibility() *Compatibility {
	c := &Compatibility{
		registry: compatibility.NewComponentGlobalsRegistry(),
		version:  compatibility.NewEffectiveVersionFromString(servedVersion, oldestVersion, oldestVersion),
		flags:    pflag.NewFlagSet("", pflag.ContinueOnError),
	}
	gates, err := newGates(c.version.EmulationVersion())
	if err == nil {
		err = c.registry.Register(compatibility.DefaultKubeComponent, c.version, gates)
	}
	if err != nil {
		panic("options: featuregates.md: " + err.Error()) // a test reads it
	}
	c.gates = gates
	c.registry.AddFlags(c.flags)
	c.settle = sync.OnceValue(c.registry.Set)
	c.validate = sync.OnceValue(c.registry.Validate)
	return c
}

// AddFlags binds the flags.
func (c *Compatibility) AddFlags(fs *pflag.FlagSet) {
	for _, name := range []string{"emulated-version", "min-compatibility-version"} {
		fs.AddFlag(c.flags.Lookup(name))
	}
	fs.Var(gatesValue{c}, "feature-gates", "Features to switch on or off, name=true|false, comma separated, with the names of kube-apiserver's. "+
		"Of those, "+strings.Join(FollowedGates(), ", ")+" change something here; generic/run/options/featuregates.md says what, and lists all.")
	fs.BoolVar(&c.ForwardCompatible, "emulation-forward-compatible", c.ForwardCompatible,
		"With an --emulated-version before "+servedVersion+", also serve the later stable versions of those beta or stable APIs that are served.")
	fs.BoolVar(&c.RuntimeConfigForwardCompatible, "runtime-config-emulation-forward-compatible", c.RuntimeConfigForwardCompatible,
		"With an --emulated-version before "+servedVersion+", serve what --runtime-config names even if it came later. Otherwise that is an error.")
}

// SetGates switches features on and off, as --feature-gates does.
func (c *Compatibility) SetGates(list string) error { return gatesValue{c}.Set(list) }

// Validate returns what is wrong.
func (c *Compatibility) Validate() []error {
	if err := c.settle(); err != nil {
		return []error{err}
	}
	errs := slices.Clone(c.validate())
	if !c.version.EmulationVersion().LessThan(c.version.BinaryVersion()) {
		refuse := func(flag string, on bool) {
			if on {
				errs = append(errs, errors.New("--"+flag+" cannot be set to true if the emulation version is the same as the binary version"))
			}
		}
		refuse("emulation-forward-compatible", c.ForwardCompatible)
		refuse("runtime-config-emulation-forward-compatible", c.RuntimeConfigForwardCompatible)
	}
	return errs
}

// Enabled reports whether a feature is on: as set itself, or all of its stage, or by
// default. What Validate reports counts as not set. It panics where there is no such
// feature.
func (c *Compatibility) Enabled(gate string) bool {
	_ = c.settle()
	return c.gates.Enabled(featuregate.Feature(gate))
}

// Emulated is the release whose API is served.
func (c *Compatibility) Emulated() *version.Version {
	_ = c.settle()
	return c.version.EmulationVersion()
}

// MinCompatibility is the oldest release that is to read what is stored.
func (c *Compatibility) MinCompatibility() *version.Version {
	_ = c.settle()
	return c.version.MinCompatibilityVersion()
}

// Stages are the stages of all features that there are in the emulated release, in
// kube-apiserver's names for them: "" is GA.
func (c *Compatibility) Stages() map[string]string {
	_ = c.settle()
	stages := map[string]string{}
	for name, spec := range c.gates.GetAll() {
		stages[string(name)] = string(spec.PreRelease)
	}
	return stages
}

// ApplyTo sets what the options say.
func (c *Compatibility) ApplyTo(s *server.Config) {
	c.warn()
	s.CBOR, s.NoInitialEvents = c.Enabled(GateCBOR), !c.Enabled("WatchList")
	s.Shards = c.Enabled("ShardedListAndWatch")
	s.UnreadDeletion = c.Enabled(GateUnreadDeletion)
	s.Uncompressed, s.PlainImpersonation = !c.Enabled("APIResponseCompression"), !c.Enabled("ConstrainedImpersonation")
	s.KeepAnonymous = !c.Enabled("UnauthenticatedHTTP2DOSMitigation")
	s.NoStatus = !c.Enabled("ComponentStatusz")
	if !c.Enabled("StorageVersionHash") {
		s.Discovery.HideStorageVersions()
	}
	emulated, least := c.Emulated(), c.MinCompatibility()
	s.Version.EmulationMajor, s.Version.EmulationMinor = version.Itoa(emulated.Major()), version.Itoa(emulated.Minor())
	s.Version.MinCompatibilityMajor, s.Version.MinCompatibilityMinor = version.Itoa(least.Major()), version.Itoa(least.Minor())
}

// warn logs gates that were set and change nothing.
func (c *Compatibility) warn() {
	for _, name := range c.removed {
		klog.InfoS("A feature gate was removed from Kubernetes; setting it changes nothing", "gate", name)
	}
	specs := c.gates.GetAll()
	for _, g := range gates() {
		if on := specs[g.name].Default; g.here == fixed && c.gates.ExplicitlySet(g.name) && c.gates.Enabled(g.name) != on {
			klog.InfoS("A feature gate is not followed", "gate", g.name, "stays", on)
		}
	}
}

// gatesValue is the value of --feature-gates: [kube:]name=true|false, comma
// separated. What former releases knew is noted, all else is the registry's.
type gatesValue struct{ c *Compatibility }

var _ pflag.Value = gatesValue{}

// Set implements pflag.Value.
func (v gatesValue) Set(list string) error {
	var known []string
	for item := range strings.SplitSeq(list, ",") {
		name, _, _ := strings.Cut(item, "=")
		name = strings.TrimPrefix(strings.TrimSpace(name), compatibility.DefaultKubeComponent+":")
		switch {
		case slices.Contains(strings.Fields(removedTable), name):
			v.c.removed = append(v.c.removed, name)
		case strings.TrimSpace(item) != "":
			known = append(known, item)
		}
	}
	if known == nil {
		return nil
	}
	return v.c.flags.Set("feature-gates", strings.Join(known, ","))
}

// String implements pflag.Value.
func (v gatesValue) String() string {
	if v.c == nil {
		return ""
	}
	return v.c.flags.Lookup("feature-gates").Value.String()
}

// Type implements pflag.Value.
func (v gatesValue) Type() string { return "colonSeparatedMultimapStringString" }
