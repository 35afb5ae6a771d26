package app

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"

	"triplane/generic/server"
)

const usage = `Triplane serves the Kubernetes API: built-in kinds, CustomResourceDefinitions and
external API servers, from one process.

Without flags it keeps everything below .triplane in the current directory and
listens on https://127.0.0.1:6443. Flags have the names that they have at
kube-apiserver.

Usage:
  triplane [flags]
`

// Parse reads a command line. It returns nil options where the command line
// asked for help or the version, which has been written to out.
func Parse(args []string, out io.Writer) (*Options, error) {
	o := NewOptions()
	o.Out = out
	sets := o.Flags()
	logging := logsapi.NewLoggingConfiguration()
	logsapi.AddFlags(logging, sets.FlagSet("logs"))
	global := sets.FlagSet("global")
	help := global.BoolP("help", "h", false, "Show this text.")
	version := global.Bool("version", false, "Show the version.")

	all := pflag.NewFlagSet("triplane", pflag.ContinueOnError)
	all.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	all.SetOutput(io.Discard)
	all.Usage = func() {}
	for _, fs := range sets.FlagSets {
		all.AddFlagSet(fs)
	}
	if err := all.Parse(args); err != nil {
		return nil, fmt.Errorf("%w; see triplane --help", err)
	}
	switch {
	case *help:
		_, err := fmt.Fprint(out, usage, "\n")
		cliflag.PrintSections(out, sets, 0)
		return nil, err
	case *version:
		v := server.DefaultVersion()
		_, err := fmt.Fprintf(out, "Triplane, Kubernetes API %s (%s, %s, %s, %s)\n", v.GitVersion, v.GitCommit, v.BuildDate, v.GoVersion, v.Platform)
		return nil, err
	case all.NArg() > 0:
		return nil, fmt.Errorf("%q is no flag; there are no commands, see triplane --help", strings.Join(all.Args(), " "))
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.logging = logging
	return o, nil
}

// ApplyLogging sets the log up as the flags say. It is for the whole process,
// which has one log, and may be called once.
func (o *Options) ApplyLogging() error {
	logs.InitLogs()
	if o.logging == nil {
		return nil
	}
	if err := logsapi.ValidateAndApply(o.logging, nil); err != nil {
		return errors.New(strings.TrimSpace(err.Error()))
	}
	return nil
}
