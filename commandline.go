package triplane

import (
	"io"

	"triplane/generic/run/host"
	"triplane/generic/serve/server"
)

// Parse reads a command line whose help begins with usage. It returns nil options where the
// command line asked for help or the version, which has been written to out.
func Parse(usage string, args []string, out io.Writer) (*Options, error) {
	o := NewOptions()
	o.Out = out
	command := host.Command{
		Name: "triplane", Usage: usage, Title: "Triplane, Kubernetes",
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

// ApplyLogging configures the log as the flags of Parse say. The log belongs to the whole process:
// ApplyLogging may be called once in it.
func (o *Options) ApplyLogging() error { return o.line.ApplyLogging(o.Compatibility.Enabled) }
