package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"triplane/cmd/triplane/transfer"
)

const exportUsage = `Writes the objects of a running server as YAML: to a file, to a directory (DIR/, a file a resource),
or to the standard output ("-").

Left out is what each server makes by itself (default roles, the Service kubernetes, tokens …), and what is of
the moment (Events, Leases, CertificateSigningRequests). Secrets are in it as they are, readable.

Usage:
  triplane export TARGET [flags]
`

const importUsage = `Creates the objects that triplane export has written, or any YAML, on a running server: from a file, from
the YAML files of a directory, or from the standard input ("-"). Objects that are there are replaced.

Owners are created before their dependents, and uids replaced by those that this server gives. What is refused
is reported, the others are imported, and the exit code is 1.

Usage:
  triplane import SOURCE [flags]
`

// Export is the command export. What it does is printed to progress.
func Export(ctx context.Context, args []string, out, progress io.Writer) error {
	fs := pflag.NewFlagSet("export", pflag.ContinueOnError)
	namespaces := fs.StringSlice("namespaces", nil, "Only these namespaces, comma separated, and what is in them.")
	target, config, err := parseTransfer(fs, exportUsage, args, out)
	if config == nil || err != nil {
		return err
	}
	return transfer.Export(ctx, config, transfer.Selection{Namespaces: *namespaces}, target, out, progress)
}

// Import is the command import. What it does is printed to progress.
func Import(ctx context.Context, args []string, in io.Reader, out, progress io.Writer) error {
	source, config, err := parseTransfer(pflag.NewFlagSet("import", pflag.ContinueOnError), importUsage, args, out)
	if config == nil || err != nil {
		return err
	}
	return transfer.Import(ctx, config, source, in, progress)
}

// parseTransfer returns the one argument and how to reach the server; a nil configuration where help
// was asked for.
func parseTransfer(fs *pflag.FlagSet, usage string, args []string, out io.Writer) (string, *restclient.Config, error) {
	fs.SetOutput(out)
	fs.Usage = func() { _, _ = fmt.Fprint(out, usage, "\nFlags:\n", fs.FlagUsages()) }
	dir := fs.String("data-dir", NewOptions().DataDir, "The data directory of the server.")
	kubeconfig := fs.String("kubeconfig", "", "How to reach the server. If blank, by the administrator's kubeconfig of the data directory.")
	if err := fs.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return "", nil, nil
	} else if err != nil {
		return "", nil, err
	}
	if fs.NArg() != 1 || fs.Arg(0) == "" {
		return "", nil, fmt.Errorf("%s takes one argument, a file, a directory or -; see triplane %s --help", fs.Name(), fs.Name())
	}
	if *kubeconfig == "" {
		*kubeconfig = filepath.Join(*dir, "admin.kubeconfig")
		if _, err := os.Stat(*kubeconfig); err != nil {
			return "", nil, fmt.Errorf("no server with a generated authority has run in this data directory: %w", err)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	return fs.Arg(0), config, err
}
