package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/logs/json"
)

const usage = `Triplane serves the Kubernetes API: built-in kinds, CustomResourceDefinitions and
external API servers, from one process.

Without flags it keeps everything below .triplane in the current directory and
listens on https://127.0.0.1:6443. Flags have the names that they have at
kube-apiserver.

Usage:
  triplane [flags]
  triplane etcd [flags]          runs an etcd, with etcd's own flags; so does the program under the name etcd
  triplane envtest-assets DIR    lays out the programs that envtest of controller-runtime looks for
  triplane snapshot …            saves, shows and restores snapshots of the embedded store
  triplane kubeconfig [flags]    writes the administrator's kubeconfig of a data directory, for clients elsewhere
`

// helpColumns is where lines of the help are wrapped.
const helpColumns = 140

// Parse reads a command line. It returns nil options where the command line
// asked for help or the version, which has been written to out.
func Parse(args []string, out io.Writer) (*Options, error) {
	o := NewOptions()
	o.Out = out
	sets := o.Flags()
	if err := knowJSON(); err != nil {
		return nil, err
	}
	logging := logsapi.NewLoggingConfiguration()
	logsapi.AddFlags(logging, sets.FlagSet("logs"))
	global := sets.FlagSet("global")
	help := global.BoolP("help", "h", false, "Show this text.")
	version := versionFlag("false")
	global.VarPF(&version, "version", "", "Show the version; raw shows all that is known of it.").NoOptDefVal = "true"

	all := pflag.NewFlagSet("triplane", pflag.ContinueOnError)
	all.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	all.SetOutput(os.Stderr) // deprecations
	all.Usage = func() {}
	for _, fs := range sets.FlagSets {
		all.AddFlagSet(fs)
	}
	if err := all.Parse(args); err != nil {
		return nil, fmt.Errorf("%w; see triplane --help", err)
	}
	if done, err := printVersion(out, string(version)); done || err != nil {
		return nil, err
	}
	switch {
	case *help:
		_, err := fmt.Fprint(out, usage, "\n")
		cliflag.PrintSections(out, sets, helpColumns)
		return nil, err
	case all.NArg() > 0:
		return nil, fmt.Errorf("%q is no flag and no command, see triplane --help", strings.Join(all.Args(), " "))
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.logging, o.flags = logging, all
	return o, nil
}

// knowJSON adds the format json to those of --logging-format. Formats are the
// process's, as its log is.
var knowJSON = sync.OnceValue(func() error {
	return logsapi.RegisterLogFormat("json", json.Factory{}, logsapi.LoggingBetaOptions)
})

// ApplyLogging sets the log up as the flags say. It is for the whole process,
// which has one log, and may be called once.
func (o *Options) ApplyLogging() error {
	logs.InitLogs()
	if o.logging == nil {
		return nil
	}
	gates := featuregate.NewFeatureGate()
	if err := logsapi.AddFeatureGates(gates); err != nil {
		return err
	}
	set := map[string]bool{}
	for gate := range gates.DeepCopy().GetAll() {
		set[string(gate)] = o.Compatibility.Enabled(string(gate))
	}
	if err := gates.SetFromMap(set); err != nil {
		return err
	}
	if err := logsapi.ValidateAndApply(o.logging, gates); err != nil {
		return errors.New(strings.TrimSpace(err.Error()))
	}
	return nil
}
