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

// Command describes the command line of a program.
type Command struct {
	// Name is the program's name in errors; Usage is the text of --help above the flags.
	Name, Usage string
	// Title and Version are the output of --version.
	Title   string
	Version *version.Info
	// Flags are the flags of the program; Parse adds those that all programs have.
	Flags cliflag.NamedFlagSets
}

// Line is a parsed command line. A nil Line has neither flags nor log settings.
type Line struct {
	flags   *pflag.FlagSet
	logging *logsapi.LoggingConfiguration
}

// helpColumns is the width to which the help is wrapped.
const helpColumns = 140

// Parse parses a command line. For --help and --version it writes to out and returns a nil Line.
func (c *Command) Parse(args []string, out io.Writer) (*Line, error) {
	if err := registerJSON(); err != nil {
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
	all.SetOutput(os.Stderr) // for deprecation warnings
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
	words := strings.TrimSpace(strings.Join(all.Args(), " ")) // an unset variable of a script is no argument
	switch {
	case *help:
		_, err := fmt.Fprint(out, c.Usage, "\n")
		cliflag.PrintSections(out, c.Flags, helpColumns)
		return nil, err
	case words != "":
		return nil, fmt.Errorf("%q is neither a flag nor a command, see %s --help", words, c.Name)
	}
	return &Line{all, logging}, nil
}

// registerJSON registers the log format json. Log formats, like the log, are global to the process.
var registerJSON = sync.OnceValue(func() error {
	return logsapi.RegisterLogFormat("json", json.Factory{}, logsapi.LoggingBetaOptions)
})

// ApplyLogging configures the log according to the flags. The log is global to the process, so ApplyLogging may be
// called only once. enabled reports whether a feature gate is on.
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

// Values returns a function that returns the flags with their values, for /flagz; nil without a command line.
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
