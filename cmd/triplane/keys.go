package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/pflag"

	"triplane"
	"triplane/generic/run/host"
	"triplane/generic/run/pki"
)

const keysUsage = `Makes the keys that servers of one cluster have in common, in the folder pki of a data directory: the
authorities of certificates, and the key of service account tokens. What is there stays.

Servers that begin a cluster (--embedded-etcd-initial-cluster), or share an etcd (--etcd-servers), are given
copies of that folder before their first start, by hand or with --from. Whoever has the keys may do everything.

Usage:
  triplane keys [flags]
`

// makeKeys is the command keys. It prints the folder of the keys.
func makeKeys(args []string, out io.Writer) error {
	fs := pflag.NewFlagSet("keys", pflag.ContinueOnError)
	dir := fs.String("data-dir", triplane.NewOptions().DataDir, "The data directory.")
	from := fs.String("from", "", "Copy the keys of this folder, such as a mounted Secret, instead of making any. It is an error if there are other ones.")
	if help, err := parse(fs, keysUsage, args, out); help || err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("keys takes no arguments, only flags; there is %q", fs.Arg(0))
	}
	held, err := host.LockDataDir(*dir)
	if err != nil {
		return err
	}
	defer held.Release()
	keys := filepath.Join(*dir, "pki")
	if *from == "" {
		err = pki.EnsureShared(keys)
	} else {
		err = copyKeys(*from, keys)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, keys)
	return err
}

func copyKeys(from, to string) error {
	files, err := pki.ReadShared(from)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	return pki.WriteShared(to, files)
}
