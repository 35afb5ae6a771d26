package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"triplane.dev"
	"triplane.dev/generic/run/host"
	"triplane.dev/generic/storage/copying"
	"triplane.dev/generic/storage/embedded"
	etcdstore "triplane.dev/generic/storage/etcd"
	"triplane.dev/generic/storage/postgres"
)

// storeCopying are the settings of triplane store copy.
type storeCopying struct {
	prefix string
	etcd   etcdstore.Config
	out    io.Writer
	shown  time.Time
}

func (c *storeCopying) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.prefix, "etcd-prefix", triplane.NewOptions().Etcd.Prefix, "copy: the prefix of the keys to copy.")
	fs.StringVar(&c.etcd.CAFile, "etcd-cafile", "", "copy: file with the CA of the etcd servers.")
	fs.StringVar(&c.etcd.CertFile, "etcd-certfile", "", "copy: file with the client certificate for etcd.")
	fs.StringVar(&c.etcd.KeyFile, "etcd-keyfile", "", "copy: file with the key of --etcd-certfile.")
}

// run copies a store.
func (c *storeCopying) run(ctx context.Context, from, to string) (err error) {
	source, closeSource, err := c.source(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	target, complete, err := c.target(ctx, to)
	if err != nil {
		return err
	}
	r, err := copying.Run(ctx, source, target, c.show)
	if err = errors.Join(err, complete(err == nil)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "keys      %d\nchanged   %d\nrevision  %d\nsha256    %s\n", r.Keys, r.Changed, r.Revision,
		r.Digest)
	return err
}

// show prints the progress every few seconds.
func (c *storeCopying) show(r copying.Result) {
	if time.Since(c.shown) > 5*time.Second && !c.shown.IsZero() {
		_, _ = fmt.Fprintf(c.out, "%d keys\n", r.Keys) // the reader may be closed
		c.shown = time.Now()
	}
	if c.shown.IsZero() {
		c.shown = time.Now()
	}
}

// source opens the store to copy from.
func (c *storeCopying) source(ctx context.Context, from string) (copying.Source, func() error, error) {
	switch {
	case postgres.IsURL(from):
		p, err := copying.OpenSource(ctx, from)
		return p, func() error { return p.Close(ctx) }, err
	case strings.Contains(from, "://"):
		c.etcd.Endpoints = strings.Split(from, ",")
		client, err := etcdstore.Client(c.etcd)
		if err != nil {
			return nil, nil, err
		}
		return copying.Etcd{Client: client, Prefix: c.keys()}, client.Close, nil
	}
	return c.embedded(ctx, from)
}

func (c *storeCopying) keys() string { return "/" + strings.Trim(c.prefix, "/") + "/" }

// embedded opens the embedded etcd of a data directory that no server uses.
func (c *storeCopying) embedded(ctx context.Context, dir string) (copying.Source, func() error, error) {
	if _, err := os.Stat(filepath.Join(dir, "etcd")); err != nil {
		return nil, nil, fmt.Errorf("%s contains no embedded etcd: %w", dir, err)
	}
	held, err := host.LockDataDir(dir)
	if err != nil {
		return nil, nil, err
	}
	server, err := embedded.Start(ctx, embedded.Config{Dir: filepath.Join(dir, "etcd"), KeepFragmented: true,
		Detached: true})
	if err != nil {
		held.Release()
		return nil, nil, err
	}
	stop := func() error { defer held.Release(); return server.Close() }
	sockets, err := os.MkdirTemp("", "triplane")
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	socket := filepath.Join(sockets, "etcd")
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, nil, errors.Join(err, stop(), os.RemoveAll(sockets))
	}
	server.Serve(listener, nil)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + socket}, Logger: zap.NewNop()})
	if err != nil {
		return nil, nil, errors.Join(err, stop(), os.RemoveAll(sockets))
	}
	return copying.Etcd{Client: client, Prefix: c.keys()}, func() error {
		return errors.Join(client.Close(), stop(), os.RemoveAll(sockets))
	}, nil
}

// target opens the store to copy to. complete ends the copy.
func (c *storeCopying) target(ctx context.Context, to string) (_ copying.Target, complete func(done bool) error,
	_ error) {
	switch {
	case postgres.IsURL(to):
		p, err := copying.OpenTarget(ctx, to)
		return p, func(bool) error { return p.Close(ctx) }, err
	case strings.Contains(to, "://"):
		return nil, nil, errors.New("the API of etcd cannot write keys at given revisions: copy to a file that ends in " +
			".db, and create the cluster from it with etcdutl snapshot restore")
	case strings.HasSuffix(to, ".db"):
		s, err := copying.NewSnapshot(to)
		return s, func(bool) error { return nil }, err
	}
	held, err := host.LockDataDir(to)
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(to, "copy.db")
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	s, err := copying.NewSnapshot(file)
	return s, func(done bool) error {
		defer held.Release()
		if !done {
			return nil
		}
		return errors.Join(embedded.Restore(file, filepath.Join(to, "etcd")), os.Remove(file))
	}, err
}
