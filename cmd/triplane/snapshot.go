package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"triplane.dev"
	"triplane.dev/generic/run/host"
	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/storage/embedded"
	"triplane.dev/internal/adminclient"
	"triplane.dev/internal/durable"
	"triplane.dev/internal/longwork"
)

const snapshotUsage = `Saves, verifies and restores snapshots of the embedded etcd, in etcd's format.

Usage:
  triplane snapshot save FILE [flags]       of a running server, or of a data directory that no server uses
  triplane snapshot status FILE             verifies a snapshot, and prints its size and revision
  triplane snapshot restore FILE [flags]    creates the etcd data of a data directory without any

A snapshot does not contain the keys and certificates of the data directory.
`

// snapshot implements the command snapshot.
func snapshot(ctx context.Context, args []string, out io.Writer) error {
	fs := pflag.NewFlagSet("snapshot", pflag.ContinueOnError)
	dir := fs.String("data-dir", triplane.NewOptions().DataDir, "The data directory.")
	kubeconfig := fs.String("kubeconfig", "",
		"save: kubeconfig of the server. If blank, the administrator's in the data directory.")
	if help, err := parse(fs, snapshotUsage, args, out); help || err != nil {
		return err
	}
	if fs.NArg() != 2 {
		return errors.New("snapshot takes save, status or restore, and a file; see triplane snapshot --help")
	}
	file := fs.Arg(1)
	switch fs.Arg(0) {
	case "save":
		return saveSnapshot(ctx, file, *dir, *kubeconfig, out)
	case "status":
		return showSnapshot(file, out)
	case "restore":
		return restoreSnapshot(file, *dir, out)
	}
	return fmt.Errorf("snapshot %s is not a command; use save, status or restore", fs.Arg(0))
}

func showSnapshot(file string, out io.Writer) error {
	status, err := embedded.InspectSnapshot(file)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "hash      %08x\nkeyspace  %s\nrevision  %d\nkeys      %d\nsize      %d\n", status.Hash,
		status.Keyspace, status.Revision, status.Keys, status.Bytes)
	return err
}

// saveSnapshot requests a snapshot from the server that uses the data directory. Without such a server it opens
// the storage itself.
func saveSnapshot(ctx context.Context, file, dir, kubeconfig string, out io.Writer) error {
	if kubeconfig == "" {
		if _, err := os.Stat(filepath.Join(dir, "etcd")); err != nil {
			return fmt.Errorf("the data directory contains no embedded etcd: %w", err)
		}
		held, err := host.LockDataDir(dir)
		if err == nil {
			defer held.Release()
			if err := saveStopped(ctx, file, dir); err != nil {
				return err
			}
			return showSnapshot(file, out)
		}
		if !errors.Is(err, host.ErrDataDirInUse) {
			return err
		}
		kubeconfig = filepath.Join(dir, triplane.KubeconfigFile)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	if err := durable.Write(file, 0o600, func(w io.Writer) error { return fetchSnapshot(ctx, config, w) }); err != nil {
		return err
	}
	return showSnapshot(file, out)
}

func saveStopped(ctx context.Context, file, dir string) error {
	server, err := embedded.Start(ctx, embedded.Config{Dir: filepath.Join(dir, "etcd"), KeepFragmented: true,
		Detached: true})
	if err != nil {
		return err
	}
	return errors.Join(server.Snapshot(file), server.Close())
}

func fetchSnapshot(ctx context.Context, config *restclient.Config, w io.Writer) error {
	server, err := adminclient.New(config, 0) // a large snapshot may take long
	if err != nil {
		return err
	}
	body, err := server.Send(ctx, http.MethodGet, filters.SnapshotPath, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(w, body)
	return err
}

func restoreSnapshot(file, dir string, out io.Writer) error {
	held, err := host.LockDataDir(dir)
	if err != nil {
		return err
	}
	defer held.Release()
	store := filepath.Join(dir, "etcd")
	if err := longwork.While(longwork.Interval, func() { restoring(file, store, out) },
		func() error { return embedded.Restore(file, store) }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "restored to %s\n", store)
	return err
}

// restoring prints the progress of a restore.
func restoring(file, store string, out io.Writer) {
	var sizes [2]int64
	for i, path := range []string{embedded.Restoring(store), file} {
		if info, err := os.Stat(path); err == nil { // the file may not exist yet
			sizes[i] = info.Size()
		}
	}
	_, _ = fmt.Fprintf(out, "%d of %d MB\n", sizes[0]>>20, sizes[1]>>20)
}
