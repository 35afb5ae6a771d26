package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"triplane.dev"
	"triplane.dev/internal/adminclient"
)

// parse parses the flags of a command. help is true if it printed the usage to out.
func parse(fs *pflag.FlagSet, usage string, args []string, out io.Writer) (help bool, err error) {
	fs.SetOutput(out)
	fs.Usage = func() { _, _ = fmt.Fprint(out, usage, "\nFlags:\n", fs.FlagUsages()) }
	if err = fs.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return true, nil
	}
	return false, err
}

// noArguments returns an error if a command that takes only flags has arguments.
func noArguments(fs *pflag.FlagSet) error {
	if fs.NArg() == 0 {
		return nil
	}
	return fmt.Errorf("%s takes only flags, not the argument %q; see triplane help %s", fs.Name(), fs.Arg(0), fs.Name())
}

// remoteFlags are the flags of commands that send requests to a server.
type remoteFlags struct{ dir, kubeconfig string }

func (f *remoteFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.dir, "data-dir", triplane.NewOptions().DataDir, "The data directory of the server.")
	fs.StringVar(&f.kubeconfig, "kubeconfig", "",
		"Kubeconfig of the server. If blank, the administrator's in the data directory.")
}

// path returns the kubeconfig of the flag or, by default, the administrator's.
func (f *remoteFlags) path() string {
	return cmp.Or(f.kubeconfig, filepath.Join(f.dir, triplane.KubeconfigFile))
}

// connect returns a client whose requests end after requestTimeout.
func (f *remoteFlags) connect() (*adminclient.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", f.path())
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return adminclient.New(config, requestTimeout)
}
