package triplane

import (
	"io"

	"github.com/spf13/pflag"

	"triplane.dev/generic/run/host"
	"triplane.dev/generic/serve/server"
)

// Parse parses a command line; usage is the text of its help above the flags. For --help and --version it writes
// to out and returns nil.
func Parse(usage string, args []string, out io.Writer) (*Options, error) {
	o := NewOptions()
	o.Out = out
	done, err := o.Parse("triplane", usage, args, nil)
	if done || err != nil {
		return nil, err
	}
	return o, nil
}

// Parse sets options by the command line of a program whose other defaults are set already. program has the program's
// further flags; it may be nil. For --help and --version it writes to o.Out and returns true.
func (o *Options) Parse(name, usage string, args []string, program *pflag.FlagSet) (done bool, err error) {
	command := host.Command{
		Name: name, Usage: usage, Title: title(),
		Version: server.DefaultVersion(), Flags: o.Flags(),
	}
	if program != nil {
		command.Flags.Order = append([]string{program.Name()}, command.Flags.Order...)
		command.Flags.FlagSets[program.Name()] = program
	}
	line, err := command.Parse(args, o.Out)
	if line == nil || err != nil {
		return err == nil, err
	}
	if err := o.Validate(); err != nil {
		return false, err
	}
	o.internal.line = line
	return false, nil
}

// title is what --version begins with.
func title() string {
	if server.Release() == "" {
		return "Triplane, Kubernetes"
	}
	return "Triplane " + server.Release() + ", Kubernetes"
}

// ApplyLogging configures the log according to the flags of Parse. The log is global to the process, so
// ApplyLogging may be called only once.
func (o *Options) ApplyLogging() error { return o.internal.line.ApplyLogging(o.Compatibility.Enabled) }
