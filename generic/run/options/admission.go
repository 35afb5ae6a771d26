package options

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Admission selects the admission plugins. Known are the names of all plugins, in execution order; Default are
// those that are enabled by default.
type Admission struct {
	Enable, Disable []string
	// Control, if set, is the complete list of plugins (--admission-control, deprecated).
	Control []string
	// ConfigFile is the AdmissionConfiguration; "" means none.
	ConfigFile string

	Known, Default []string
}

// NewAdmission returns options for a set of plugins.
func NewAdmission(known, byDefault []string) *Admission {
	return &Admission{Known: known, Default: byDefault}
}

// AddFlags binds the flags.
func (o *Admission) AddFlags(fs *pflag.FlagSet) {
	list := "Of: " + strings.Join(o.Known, ", ") + ". The order of this list does not matter."
	fs.StringSliceVar(&o.Enable, "enable-admission-plugins", o.Enable,
		"Admission plugins to run in addition to the default ones ("+strings.Join(o.Default, ", ")+"). "+list)
	fs.StringSliceVar(&o.Disable, "disable-admission-plugins", o.Disable,
		"Default admission plugins to disable. "+list)
	fs.StringSliceVar(&o.Control, "admission-control", o.Control,
		"The complete list of admission plugins to run.")
	fs.StringVar(&o.ConfigFile, "admission-control-config-file", o.ConfigFile,
		"File with the configurations of admission plugins: kind AdmissionConfiguration of "+
			"apiserver.config.k8s.io/v1. "+
			"Paths in it are relative to its folder. Read once, when the server starts.")
	_ = fs.MarkDeprecated("admission-control",
		"Use --enable-admission-plugins or --disable-admission-plugins instead. Will be removed in a future version.")
	fs.Lookup("admission-control").Hidden = false
}

// Validate returns an error for each invalid value.
func (o *Admission) Validate() []error {
	var errs []error
	check := func(flag string, names []string) {
		for _, n := range names {
			if !slices.Contains(o.Known, n) {
				errs = append(errs, fmt.Errorf("--%s: there is no plugin %q; there are %s", flag, n,
					strings.Join(o.Known, ", ")))
			}
		}
	}
	check("enable-admission-plugins", o.Enable)
	check("disable-admission-plugins", o.Disable)
	check("admission-control", o.Control)
	if len(o.Control) > 0 && len(o.Enable)+len(o.Disable) > 0 {
		errs = append(errs,
			errors.New("admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually "+
				"exclusive"))
	}
	for _, n := range o.Enable {
		if slices.Contains(o.Disable, n) {
			errs = append(errs, fmt.Errorf("admission plugin %q is both enabled and disabled", n))
		}
	}
	return errs
}

// Enabled returns the enabled plugins in execution order.
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
