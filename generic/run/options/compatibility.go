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
	baseversion "k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"triplane.dev/generic/serve/server"
)

// servedVersion is the server's own release, that of the libraries. Three releases before it can be emulated.
const servedVersion = baseversion.DefaultKubeBinaryVersion

// Compatibility configures the emulated release of Kubernetes and its feature gates. Create it with
// NewCompatibility. All flags must be set before the first use, which resolves them.
type Compatibility struct {
	// ForwardCompatible also serves versions of an API that were introduced after the emulated release.
	ForwardCompatible bool
	// RuntimeConfigForwardCompatible serves versions in --runtime-config that were introduced after the emulated
	// release, instead of rejecting them.
	RuntimeConfigForwardCompatible bool
	// KeepRemoved also serves the versions of APIs that the emulated release was the first to remove.
	KeepRemoved bool

	registry compatibility.ComponentGlobalsRegistry
	version  compatibility.MutableEffectiveVersion
	gates    featuregate.MutableVersionedFeatureGate
	flags    *pflag.FlagSet // the registry's
	removed  []string       // gates that were set, but have been removed from Kubernetes
	resolve  func() error
	validate func() []error // called once, because it logs warnings
}

// NewCompatibility returns the defaults: the server's own release with its default feature gates.
func NewCompatibility() *Compatibility {
	oldest := version.MustParse(servedVersion).SubtractMinor(3).String()
	c := &Compatibility{
		registry: compatibility.NewComponentGlobalsRegistry(),
		version:  compatibility.NewEffectiveVersionFromString(servedVersion, oldest, oldest),
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
	c.resolve = sync.OnceValue(c.registry.Set)
	c.validate = sync.OnceValue(c.registry.Validate)
	return c
}

// AddFlags binds the flags.
func (c *Compatibility) AddFlags(fs *pflag.FlagSet) {
	for _, name := range []string{"emulated-version", "min-compatibility-version"} {
		fs.AddFlag(c.flags.Lookup(name))
	}
	fs.Var(gatesValue{c}, "feature-gates",
		"Feature gates to set, name=true|false, comma separated, with kube-apiserver's names. These have an "+
			"effect here: "+strings.Join(FollowedGates(), ", ")+
			". generic/run/options/featuregates.md lists all gates.")
	fs.BoolVar(&c.ForwardCompatible, "emulation-forward-compatible", c.ForwardCompatible,
		"With an --emulated-version before "+servedVersion+
			", also serve the later stable versions of enabled beta and stable APIs.")
	fs.BoolVar(&c.RuntimeConfigForwardCompatible, "runtime-config-emulation-forward-compatible",
		c.RuntimeConfigForwardCompatible,
		"With an --emulated-version before "+servedVersion+
			", serve the versions in --runtime-config even if they were introduced later. Otherwise they are an "+
			"error.")
}

// SetGates sets feature gates, like --feature-gates.
func (c *Compatibility) SetGates(list string) error { return gatesValue{c}.Set(list) }

// Validate returns an error for each invalid value.
func (c *Compatibility) Validate() []error {
	if err := c.resolve(); err != nil {
		return []error{err}
	}
	errs := slices.Clone(c.validate())
	if !c.version.EmulationVersion().LessThan(c.version.BinaryVersion()) {
		refuse := func(flag string, on bool) {
			if on {
				errs = append(errs,
					errors.New("--"+flag+" cannot be set to true if the emulation version is the same as the binary "+
						"version"))
			}
		}
		refuse("emulation-forward-compatible", c.ForwardCompatible)
		refuse("runtime-config-emulation-forward-compatible", c.RuntimeConfigForwardCompatible)
	}
	return errs
}

// Enabled reports whether a feature gate is on: as set, otherwise by its stage (AllAlpha, AllBeta), otherwise by
// default. Invalid settings are ignored. It panics if the gate does not exist.
func (c *Compatibility) Enabled(gate string) bool {
	_ = c.resolve()
	return c.gates.Enabled(featuregate.Feature(gate))
}

// Emulated returns the emulated release.
func (c *Compatibility) Emulated() *version.Version {
	_ = c.resolve()
	return c.version.EmulationVersion()
}

// MinCompatibility returns the oldest release that must be able to read stored objects.
func (c *Compatibility) MinCompatibility() *version.Version {
	_ = c.resolve()
	return c.version.MinCompatibilityVersion()
}

// Stages returns the stages of all feature gates of the emulated release, with kube-apiserver's names; "" is GA.
func (c *Compatibility) Stages() map[string]string {
	_ = c.resolve()
	stages := map[string]string{}
	for name, spec := range c.gates.GetAll() {
		stages[string(name)] = string(spec.PreRelease)
	}
	return stages
}

// ApplyTo applies the options.
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
	s.Version.MinCompatibilityMajor, s.Version.MinCompatibilityMinor = version.Itoa(least.Major()),
		version.Itoa(least.Minor())
}

// warn logs feature gates that were set without effect.
func (c *Compatibility) warn() {
	for _, name := range c.removed {
		klog.InfoS("Ignored feature gate that was removed from Kubernetes", "gate", name)
	}
	specs := c.gates.GetAll()
	for _, g := range gates() {
		if on := specs[g.name].Default; g.here == fixed && c.gates.ExplicitlySet(g.name) &&
			c.gates.Enabled(g.name) != on {
			klog.InfoS("Ignored feature gate that is not supported", "gate", g.name, "enabled", on)
		}
	}
}

// gatesValue is the value of --feature-gates: [kube:]name=true|false, comma separated. It records removed gates,
// and passes all others to the registry.
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
