package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/version"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/logs/json"
)

// Command describes a program's command line.
type Command struct {
	// Name of the program in errors, Usage what --help says above the flags.
	Name, Usage string
	// Title and Version are what --version says.
	Title   string
	Version *version.Info
	// Flags are those of the program; Parse adds the ones that all have.
	Flags cliflag.NamedFlagSets
}

// Line is a command line that was read. A nil one has neither flags nor settings of the log.
type Line struct {
	flags   *pflag.FlagSet
	logging *logsapi.LoggingConfiguration
}

// helpColumns is where lines of the help are wrapped.
const helpColumns = 140

// Parse reads a command line. It returns a nil Line where the command line asked for help or
// the version, which has been written to out.
func (c *Command) Parse(args []string, out io.Writer) (*Line, error) {
	if err := knowJSON(); err != nil {
		return nil, err
	}
	logging := logsapi.NewLoggingConfiguration()
	logsapi.AddFlags(logging, c.Flags.FlagSet("logs"))
	global := c.Flags.FlagSet("global")
	help := global.BoolP("help", "h", false, "Show this text.")
	version := versionFlag("false")
	global.VarPF(&version, "version", "", "Show the version; raw shows all that is known of it.").NoOptDefVal = "true"

	all := pflag.NewFlagSet(c.Name, pflag.ContinueOnError)
	all.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	all.SetOutput(os.Stderr) // deprecations
	all.Usage = func() {}
	for _, fs := range c.Flags.FlagSets {
		all.AddFlagSet(fs)
	}
	if err := all.Parse(args); err != nil {
		return nil, fmt.Errorf("%w; see %s --help", err, c.Name)
	}
	if done, err := printVersion(out, c.Title, c.Version, string(version)); done || err != nil {
		return nil, err
	}
	switch {
	case *help:
		_, err := fmt.Fprint(out, c.Usage, "\n")
		cliflag.PrintSections(out, c.Flags, helpColumns)
		return nil, err
	case all.NArg() > 0:
		return nil, fmt.Errorf("%q is no flag and no command, see %s --help", strings.Join(all.Args(), " "), c.Name)
	}
	return &Line{all, logging}, nil
}

// knowJSON registers the format json to those of --logging-format. Formats are the
// process's, as its log is.
var knowJSON = sync.OnceValue(func() error {
	return logsapi.RegisterLogFormat("json", json.Factory{}, logsapi.LoggingBetaOptions)
})

// ApplyLogging sets the log up as the flags say. It is for the whole process,
// which has one log, and may be called once. enabled reports whether a feature is on.
func (l *Line) ApplyLogging(enabled func(gate string) bool) error {
	logs.InitLogs()
	if l == nil {
		return nil
	}
	gates := featuregate.NewFeatureGate()
	if err := logsapi.AddFeatureGates(gates); err != nil {
		return err
	}
	set := map[string]bool{}
	for gate := range gates.DeepCopy().GetAll() {
		set[string(gate)] = enabled(string(gate))
	}
	if err := gates.SetFromMap(set); err != nil {
		return err
	}
	if err := logsapi.ValidateAndApply(l.logging, gates); err != nil {
		return errors.New(strings.TrimSpace(err.Error()))
	}
	return nil
}

// Values are the flags with their values, for /flagz; nil where there was no command line.
func (l *Line) Values() func() map[string]string {
	if l == nil {
		return nil
	}
	return func() map[string]string {
		values := map[string]string{}
		l.flags.VisitAll(func(f *pflag.Flag) { values[f.Name] = f.Value.String() })
		return values
	}
}
