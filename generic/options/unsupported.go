package options

import (
	"fmt"

	"github.com/spf13/pflag"
)

// Unsupported are flags of kube-apiserver that name files which nothing here
// follows, and which matter too much to be ignored: a start with one of them fails.
type Unsupported struct {
	files map[string]*string
}

// AddFlags binds the flags.
func (o *Unsupported) AddFlags(fs *pflag.FlagSet) {
	o.files = map[string]*string{}
	for name, what := range map[string]string{
		"admission-control-config-file": "configurations of admission plugins",
	} {
		o.files[name] = fs.String(name, "", "File with "+what+". Not supported: refused unless blank.")
	}
}

// Validate returns what is wrong.
func (o *Unsupported) Validate() []error {
	var errs []error
	for name, file := range o.files {
		if *file != "" {
			errs = append(errs, fmt.Errorf("--%s is not supported", name))
		}
	}
	return errs
}
