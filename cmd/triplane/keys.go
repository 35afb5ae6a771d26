package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/pflag"

	"triplane.dev"
	"triplane.dev/generic/run/host"
	"triplane.dev/generic/run/pki"
)

const keysUsage = `Generates the keys that servers of one cluster share, in the directory pki of a data directory: the CAs, and
the key of service account tokens. Existing keys are kept.

Servers that create a cluster (--embedded-etcd-initial-cluster) or share an etcd (--etcd-servers) need copies
of that directory before their first start; --from copies them. The keys grant full access to the cluster.

Usage:
  triplane keys [flags]
`

// makeKeys implements the command keys. It prints the directory of the keys.
func makeKeys(args []string, out io.Writer) error {
	flags := pflag.NewFlagSet("keys", pflag.ContinueOnError)
	dir := flags.String("data-dir", triplane.NewOptions().DataDir, "The data directory.")
	from := flags.String("from", "",
		"Copy the keys from this directory, for example a mounted Secret, instead of generating them. It is an "+
			"error if other keys exist.")
	if help, err := parse(flags, keysUsage, args, out); help || err != nil {
		return err
	}
	if err := noArguments(flags); err != nil {
		return err
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
	if errors.Is(err, fs.ErrNotExist) {
		// A data directory has them in pki.
		if inData, err := pki.ReadShared(filepath.Join(from, "pki")); err == nil {
			return pki.WriteShared(to, inData)
		}
	}
	if err != nil {
		return fmt.Errorf("--from takes the directory pki of a data directory, or the data directory: %w", err)
	}
	return pki.WriteShared(to, files)
}
