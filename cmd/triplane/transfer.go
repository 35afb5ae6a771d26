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

	"triplane.dev"
	"triplane.dev/generic/run/host"
	"triplane.dev/internal/transfer"
	"triplane.dev/kubeapi/controllers"
)

const exportUsage = `Writes the objects of a server as YAML: to a file, to a directory (DIR/, one file per resource),
or to the standard output ("-").

Objects that each server creates itself (default roles, the Service kubernetes, tokens …) and temporary ones
(Events, Leases, CertificateSigningRequests) are not exported. Secrets are exported in plain text.

If no server uses the data directory, the command starts one for the export.

Usage:
  triplane export TARGET [flags]
`

const importUsage = `Creates objects from YAML on a server, for example those of triplane export: from a file, from the YAML files of a
directory, or from the standard input ("-"). Existing objects are replaced. If no server uses the data directory,
the command starts one for the import; a directory that does not exist is created.

Owners are created before their dependents, and references to uids are updated. Rejected objects are reported,
the others are imported, and the exit code is 1.

Usage:
  triplane import SOURCE [flags]
`

// exportObjects implements the command export. It prints its progress to progress.
func exportObjects(ctx context.Context, args []string, out, progress io.Writer) error {
	fs := pflag.NewFlagSet("export", pflag.ContinueOnError)
	namespaces := fs.StringSlice("namespaces", nil, "Export only these namespaces and their objects, comma separated.")
	t, err := parseTransfer(fs, exportUsage, args, out)
	if t == nil || err != nil {
		return err
	}
	return t.with(ctx, func(config *restclient.Config) error {
		return transfer.Export(ctx, config, transfer.Selection{Namespaces: *namespaces},
			transfer.Target{Path: t.files, Out: out}, progress)
	})
}

// importObjects implements the command import. It prints its progress to progress.
func importObjects(ctx context.Context, args []string, in io.Reader, out, progress io.Writer) error {
	t, err := parseTransfer(pflag.NewFlagSet("import", pflag.ContinueOnError), importUsage, args, out)
	if t == nil || err != nil {
		return err
	}
	if t.files != "-" {
		if _, err := os.Stat(t.files); err != nil { // before a data directory is created
			return err
		}
	}
	t.create = true
	return t.with(ctx, func(config *restclient.Config) error {
		return transfer.Import(ctx, config, t.files, in,
			progress)
	})
}

// transferred has the arguments of export or import.
type transferred struct {
	files string // the target or source
	remoteFlags
	encryption, serviceRanges string
	// create allows a data directory without storage, which a server then creates.
	create bool
}

// parseTransfer parses the command line; it returns nil after it printed the help.
func parseTransfer(fs *pflag.FlagSet, usage string, args []string, out io.Writer) (*transferred, error) {
	t := &transferred{}
	t.add(fs)
	fs.StringVar(&t.encryption, "encryption-provider-config", "",
		"The flag of the server, for a data directory that no server uses.")
	fs.StringVar(&t.serviceRanges, "service-cluster-ip-range", "",
		"The flag of the server, for a data directory that no server uses.")
	if help, err := parse(fs, usage, args, out); help || err != nil {
		return nil, err
	}
	if fs.NArg() != 1 || fs.Arg(0) == "" {
		return nil, fmt.Errorf("%s takes one argument, a file, a directory or -; see triplane %s --help", fs.Name(),
			fs.Name())
	}
	t.files = fs.Arg(0)
	return t, nil
}

// with calls do with a client configuration: that of the kubeconfig, or that of the server that uses the data
// directory. Otherwise it starts a server on the data directory for the call.
func (t *transferred) with(ctx context.Context, do func(*restclient.Config) error) error {
	stopped := false
	if t.kubeconfig == "" {
		var err error
		if stopped, err = holdsStoppedStore(t.dir); err != nil {
			return err
		}
		// An import may have created the directory, which then has no kubeconfig before its server starts.
		_, err = os.Stat(filepath.Join(t.dir, triplane.KubeconfigFile))
		if stopped = stopped || t.create && errors.Is(err, os.ErrNotExist); err != nil && !stopped {
			return fmt.Errorf("the data directory contains no administrator's kubeconfig: %w; name the directory "+
				"with --data-dir, or a server with --kubeconfig", err)
		}
	}
	if !stopped {
		config, err := clientcmd.BuildConfigFromFlags("", t.path())
		if err != nil {
			return err
		}
		return do(config)
	}
	server, err := triplane.Start(ctx, t.transferOptions())
	if err != nil {
		return err
	}
	return errors.Join(do(server.ClientConfig()), server.Stop())
}

// holdsStoppedStore reports whether a data directory contains storage that no server uses.
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

// transferOptions returns the options of a server for this command only. It runs no controllers, does not publish its
// address in the endpoints of the Service kubernetes, and does not write admin.kubeconfig.
func (t *transferred) transferOptions() *triplane.Options {
	o := triplane.NewOptions()
	o.DataDir, o.Etcd.EncryptionConfig, o.Kube.ServiceClusterIPs = t.dir, t.encryption, t.serviceRanges
	o.SecureServing.BindAddress, o.SecureServing.BindPort = net.IPv4(127, 0, 0, 1), 0
	o.Controllers.Selection, o.Kube.EndpointReconciler, o.KeepKubeconfig = []string{controllers.None},
		triplane.ReconcilerNone, true
	return o
}
