package options

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Admission is which plugins run on what is written. Known are the names that
// there are, in the order in which they run; Default those that run unless
// switched off.
type Admission struct {
	Enable, Disable []string
	// Control, where set, are all plugins that run (--admission-control,
	// deprecated).
	Control []string
	// ConfigFile configures plugins, blank if none is configured.
	ConfigFile string

	Known, Default []string
}

// NewAdmission returns options for a set of plugins.
func NewAdmission(known, byDefault []string) *Admission {
	return &Admission{Known: known, Default: byDefault}
}

// AddFlags binds the flags.
func (o *Admission) AddFlags(fs *pflag.FlagSet) {
	list := "Of: " + strings.Join(o.Known, ", ") + ". Their order here does not matter."
	fs.StringSliceVar(&o.Enable, "enable-admission-plugins", o.Enable,
		"Admission plugins to run beside the default ones ("+strings.Join(o.Default, ", ")+"). "+list)
	fs.StringSliceVar(&o.Disable, "disable-admission-plugins", o.Disable,
		"Admission plugins not to run although they are default ones. "+list)
	fs.StringSliceVar(&o.Control, "admission-control", o.Control, "The admission plugins to run, and no others.")
	fs.StringVar(&o.ConfigFile, "admission-control-config-file", o.ConfigFile,
		"File with the configurations of admission plugins: kind AdmissionConfiguration of apiserver.config.k8s.io/v1. "+
			"Paths in it are relative to its folder. Read once, when the server starts.")
	_ = fs.MarkDeprecated("admission-control", "Use --enable-admission-plugins or --disable-admission-plugins instead. Will be removed in a future version.")
	fs.Lookup("admission-control").Hidden = false
}

// Validate returns what is wrong.
func (o *Admission) Validate() []error {
	var errs []error
	check := func(flag string, names []string) {
		for _, n := range names {
			if !slices.Contains(o.Known, n) {
				errs = append(errs, fmt.Errorf("--%s: there is no plugin %q; there are %s", flag, n, strings.Join(o.Known, ", ")))
			}
		}
	}
	check("enable-admission-plugins", o.Enable)
	check("disable-admission-plugins", o.Disable)
	check("admission-control", o.Control)
	if len(o.Control) > 0 && len(o.Enable)+len(o.Disable) > 0 {
		errs = append(errs, errors.New("admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive"))
	}
	for _, n := range o.Enable {
		if slices.Contains(o.Disable, n) {
			errs = append(errs, fmt.Errorf("admission plugin %q is both enabled and disabled", n))
		}
	}
	return errs
}

// Enabled are the plugins to run, in their order.
func (o *Admission) Enabled() []string {
	var names []string
	for _, n := range o.Known {
		if len(o.Control) > 0 {
			if slices.Contains(o.Control, n) {
				names = append(names, n)
			}
			continue
		}
		on := slices.Contains(o.Default, n) || slices.Contains(o.Enable, n)
		if on && !slices.Contains(o.Disable, n) {
			names = append(names, n)
		}
	}
	return names
}
