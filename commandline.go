package triplane

import (
	"io"

	"triplane.dev/generic/run/host"
	"triplane.dev/generic/serve/server"
)

// Parse parses a command line; usage is the text of its help above the flags. For --help and --version it writes
// to out and returns nil.
func Parse(usage string, args []string, out io.Writer) (*Options, error) {
	o := NewOptions()
	o.Out = out
	command := host.Command{
		Name: "triplane", Usage: usage, Title: title(),
		Version: server.DefaultVersion(), Flags: o.Flags(),
	}
	line, err := command.Parse(args, out)
	if line == nil || err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.line = line
	return o, nil
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
func (o *Options) ApplyLogging() error { return o.line.ApplyLogging(o.Compatibility.Enabled) }
