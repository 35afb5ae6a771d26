package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"triplane.dev"
	"triplane.dev/generic/run/host"
	"triplane.dev/generic/storage/embedded"
	"triplane.dev/kubeapi"
)

const storeUsage = `Verifies the files of an embedded etcd, and copies stores.

Usage:
  triplane store verify [DIR] [flags]
  triplane store copy FROM TO [flags]

verify checks the embedded etcd of a data directory that no server uses: the pages of the database, each revision of a
key, that each value can be decoded, and the checksums of the log. It compares each revision with the snapshots of the
data directory, and verifies their checksums. The exit code is 1 if a check fails.

copy copies the objects with their resource versions. FROM is a data directory that no server uses, the URLs of an etcd
cluster, or that of a PostgreSQL database. TO is the URL of a database, a data directory without a store, or a file that
ends in .db: a snapshot, from which etcdutl creates an etcd cluster. A copy to a database can be interrupted and
repeated; repeated after the servers of FROM were stopped it takes what has changed. At the end both are compared.
`

// store implements the command store.
func store(ctx context.Context, args []string, out io.Writer) error {
	fs := pflag.NewFlagSet("store", pflag.ContinueOnError)
	dir := fs.String("data-dir", triplane.NewOptions().DataDir, "verify: the data directory.")
	snapshots := fs.String("snapshot-dir", "",
		"verify: directory of the snapshots to compare with. If blank, the directory snapshots of the data directory.")
	copied := storeCopying{out: out}
	copied.addFlags(fs)
	if help, err := parse(fs, storeUsage, args, out); help || err != nil {
		return err
	}
	switch {
	case fs.NArg() == 3 && fs.Arg(0) == "copy":
		return copied.run(ctx, fs.Arg(1), fs.Arg(2))
	case fs.NArg() == 2 && fs.Arg(0) == "verify":
		*dir = fs.Arg(1)
	case fs.NArg() != 1 || fs.Arg(0) != "verify":
		return errors.New("store takes verify and a data directory, or copy and two stores; see triplane store --help")
	}
	return verifyStore(*dir, *snapshots, out)
}

// verifyStore verifies the embedded etcd of a data directory.
func verifyStore(dir, snapshots string, out io.Writer) error {
	if snapshots == "" {
		snapshots = filepath.Join(dir, "snapshots")
	}
	held, err := host.LockDataDir(dir)
	if err != nil {
		return err
	}
	defer held.Release()
	found, err := embedded.Verify(filepath.Join(dir, "etcd"),
		embedded.Verification{Snapshots: snapshots, Value: kubeapi.NewValueCheck()})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out,
		"keyspace   %s\nrevision   %d\ncompacted  %d\nkeys       %d\nrevisions  %d\nsnapshots  %s\n",
		found.Hash, found.Revision, found.Compacted, found.Keys, found.Revisions, strings.Join(found.Compared, " "))
	if err = errors.Join(append([]error{err}, found.Unusable...)...); err != nil {
		return fmt.Errorf("the storage is valid, but some of its snapshots are not: %w", err)
	}
	return nil
}
