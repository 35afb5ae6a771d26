package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"triplane"
	"triplane/cmd/triplane/transfer"
	"triplane/generic/run/host"
	"triplane/kubeapi/controllers"
)

const exportUsage = `Writes the objects of a server as YAML: to a file, to a directory (DIR/, a file a resource),
or to the standard output ("-").

Left out is what each server makes by itself (default roles, the Service kubernetes, tokens …), and what is of
the moment (Events, Leases, CertificateSigningRequests). Secrets are in it as they are, readable.

The server runs, or its data directory is used by none: one runs in it meanwhile, for this command alone.

Usage:
  triplane export TARGET [flags]
`

const importUsage = `Creates the objects that triplane export has written, or any YAML, on a server, that runs or does not: from a file, from
the YAML files of a directory, or from the standard input ("-"). Objects that are there are replaced.

Owners are created before their dependents, and uids replaced by those that this server gives. What is refused
is reported, the others are imported, and the exit code is 1.

Usage:
  triplane import SOURCE [flags]
`

// exportObjects is the command export. What it does is printed to progress.
func exportObjects(ctx context.Context, args []string, out, progress io.Writer) error {
	fs := pflag.NewFlagSet("export", pflag.ContinueOnError)
	namespaces := fs.StringSlice("namespaces", nil, "Only these namespaces, comma separated, and what is in them.")
	t, err := parseTransfer(fs, exportUsage, args, out)
	if t == nil || err != nil {
		return err
	}
	return t.with(ctx, func(config *restclient.Config) error {
		return transfer.Export(ctx, config, transfer.Selection{Namespaces: *namespaces}, t.files, out, progress)
	})
}

// importObjects is the command import. What it does is printed to progress.
func importObjects(ctx context.Context, args []string, in io.Reader, out, progress io.Writer) error {
	t, err := parseTransfer(pflag.NewFlagSet("import", pflag.ContinueOnError), importUsage, args, out)
	if t == nil || err != nil {
		return err
	}
	return t.with(ctx, func(config *restclient.Config) error { return transfer.Import(ctx, config, t.files, in, progress) })
}

// transferred is what a command line of export or import names.
type transferred struct {
	files string // the target or source
	remoteFlags
	encryption, serviceRanges string
}

// parseTransfer returns nil where help was asked for.
func parseTransfer(fs *pflag.FlagSet, usage string, args []string, out io.Writer) (*transferred, error) {
	t := &transferred{}
	t.add(fs)
	fs.StringVar(&t.encryption, "encryption-provider-config", "", "That of the server, for a data directory that no server uses.")
	fs.StringVar(&t.serviceRanges, "service-cluster-ip-range", "", "That of the server, for a data directory that no server uses.")
	if help, err := parse(fs, usage, args, out); help || err != nil {
		return nil, err
	}
	if fs.NArg() != 1 || fs.Arg(0) == "" {
		return nil, fmt.Errorf("%s takes one argument, a file, a directory or -; see triplane %s --help", fs.Name(), fs.Name())
	}
	t.files = fs.Arg(0)
	return t, nil
}

// with calls do with the way to the server: that of the kubeconfig, the one that uses the data directory, or
// one that runs there meanwhile, where none does.
func (t *transferred) with(ctx context.Context, do func(*restclient.Config) error) error {
	stopped := false
	if t.kubeconfig == "" {
		if _, err := os.Stat(filepath.Join(t.dir, triplane.KubeconfigFile)); err != nil {
			return fmt.Errorf("no server with a generated authority has run in this data directory: %w", err)
		}
		var err error
		if stopped, err = holdsStoppedStore(t.dir); err != nil {
			return err
		}
	}
	if !stopped {
		config, err := clientcmd.BuildConfigFromFlags("", t.path())
		if err != nil {
			return err
		}
		return do(config)
	}
	server, err := triplane.Start(ctx, t.quiet())
	if err != nil {
		return err
	}
	return errors.Join(do(server.ClientConfig()), server.Stop())
}

// holdsStoppedStore reports whether a data directory has a store that no server uses.
func holdsStoppedStore(dir string) (bool, error) {
	if _, err := os.Stat(filepath.Join(dir, "etcd")); err != nil {
		return false, nil
	}
	held, err := host.LockDataDir(dir)
	if errors.Is(err, host.ErrDataDirInUse) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	held.Release()
	return true, nil
}

// quiet are the options of a server for this command alone: it runs no controllers, and neither the
// endpoints of the Service kubernetes nor admin.kubeconfig name it.
func (t *transferred) quiet() *triplane.Options {
	o := triplane.NewOptions()
	o.DataDir, o.Etcd.EncryptionConfig, o.Kube.ServiceClusterIPs = t.dir, t.encryption, t.serviceRanges
	o.SecureServing.BindAddress, o.SecureServing.BindPort = net.IPv4(127, 0, 0, 1), 0
	o.Controllers.Selection, o.Kube.EndpointReconciler, o.KeepKubeconfig = []string{controllers.None}, triplane.ReconcilerNone, true
	return o
}
